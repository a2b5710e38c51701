#include "items.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <memory>

#include "syrtos/base/error.h"
#include "syrtos/data/sets/array_data.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

using OneTarget = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

class ItemData : public data::Dataset {
 public:
  ItemData(data::DatasetInfo info, const nb::object& read)
      : read_(new nb::object(read),
              [](nb::object* kept) {
                const nb::gil_scoped_acquire locked;
                delete kept;
              }),
        each_(static_cast<size_t>(std::max<int64_t>(1, info.targets.values))),
        targets_(static_cast<size_t>(info.size) * each_),
        is_known_(static_cast<size_t>(info.size)) {
    info_ = std::move(info);
  }

  data::Target target(int64_t index) const override {
    const auto at = static_cast<size_t>(index);
    if (!is_known_[at].load(std::memory_order_acquire)) {
      data::Scratch scratch;
      return read(index, scratch).target;
    }
    return known(at);
  }

  data::Sample read(int64_t index, data::Scratch& scratch) const override {
    const nb::gil_scoped_acquire locked;
    try {
      const nb::object item = (*read_)(index);
      keep(static_cast<size_t>(index), item[1]);
      return copied(nb::cast<AnyArray>(item[0]), index, scratch);
    } catch (nb::python_error& error) {
      fail_run("{}: reading sample {} raised {}", info_.name, index, said(error));
    }
  }

 private:
  data::Target known(size_t at) const {
    const std::span<const float> values = std::span(targets_).subspan(at * each_, each_);
    if (info_.targets.values > 0) return {.values = values};
    return {.label = static_cast<int32_t>(values[0])};
  }

  /// With the interpreter's lock, and once: whoever reads a sample again finds the same.
  void keep(size_t at, const nb::object& target) const {
    if (is_known_[at].load(std::memory_order_relaxed)) return;
    if (info_.targets.values > 0) {
      const auto values = nb::cast<OneTarget>(target);
      std::copy_n(values.data(), each_, targets_.begin() + static_cast<std::ptrdiff_t>(at * each_));
    } else {
      targets_[at] = static_cast<float>(nb::cast<int32_t>(target));
    }
    is_known_[at].store(true, std::memory_order_release);
  }

  /// Without the trace, which is about our own functions.
  static std::string said(nb::python_error& error) {
    const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
    return type + ": " + nb::cast<std::string>(nb::str(error.value()));
  }

  data::Sample copied(const AnyArray& values, int64_t index, data::Scratch& scratch) const {
    const auto value = static_cast<int64_t>(size_of(info_.dtype));
    const data::ArrayView view{
        .owner = nullptr,
        .values = static_cast<const std::byte*>(values.data()),
        .dtype = info_.dtype,
        .size = 1,
        .sample = info_.shape(),
        .step = 0,
        .strides = {values.stride(0) * value, values.stride(1) * value, values.stride(2) * value}};
    data::copy_sample(view, 0, scratch.values);
    return {.values = scratch.values.data(),
            .dtype = info_.dtype,
            .channels = info_.channels,
            .height = info_.height,
            .width = info_.width,
            .target = known(static_cast<size_t>(index))};
  }

  std::shared_ptr<nb::object> read_;
  size_t each_;                         // numbers of a target
  mutable std::vector<float> targets_;  // of the samples that are known
  mutable std::vector<std::atomic<bool>> is_known_;
};

}  // namespace

Data item_data(const std::string& name, int64_t size, const std::vector<int64_t>& sample,
               bool is_bytes, int64_t classes, const std::vector<int64_t>& shape,
               const nb::object& read) {
  data::DatasetInfo info{.name = name,
                         .size = size,
                         .dtype = is_bytes ? DType::u8 : DType::f32,
                         .channels = sample.at(0),
                         .height = sample.at(1),
                         .width = sample.at(2),
                         .classes = data::numbered_classes(classes),
                         .asks_samples = true};
  if (classes == 0) {
    info.targets = {.values = 1, .shape = shape};
    for (const int64_t extent : shape) info.targets.values *= extent;
  }
  return {std::make_shared<ItemData>(std::move(info), read)};
}

}  // namespace syrtos::python
