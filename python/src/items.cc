#include "items.h"

#include <nanobind/stl/string.h>

#include <atomic>
#include <memory>

#include "syrtos/base/error.h"
#include "syrtos/data/sets/array_data.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::python {

namespace nb = nanobind;

namespace {

class ItemData : public data::Dataset {
 public:
  ItemData(data::DatasetInfo info, const nb::object& read)
      : read_(new nb::object(read),
              [](nb::object* kept) {
                const nb::gil_scoped_acquire locked;
                delete kept;
              }),
        labels_(static_cast<size_t>(info.size)) {
    info_ = std::move(info);
    for (std::atomic<int32_t>& label : labels_) label.store(-1, std::memory_order_relaxed);
  }

  int32_t label(int64_t index) const override {
    const int32_t known = labels_[static_cast<size_t>(index)].load(std::memory_order_relaxed);
    if (known >= 0) return known;
    data::Scratch scratch;
    return read(index, scratch).label;
  }

  data::Sample read(int64_t index, data::Scratch& scratch) const override {
    const nb::gil_scoped_acquire locked;
    try {
      const nb::object item = (*read_)(index);
      const auto values = nb::cast<AnyArray>(item[0]);
      const auto label = nb::cast<int32_t>(item[1]);
      labels_[static_cast<size_t>(index)].store(label, std::memory_order_relaxed);
      return copied(values, label, scratch);
    } catch (nb::python_error& error) {
      fail_run("{}: reading sample {} raised {}", info_.name, index, said(error));
    }
  }

 private:
  /// Without the trace, which is about our own functions.
  static std::string said(nb::python_error& error) {
    const std::string type = nb::cast<std::string>(error.type().attr("__name__"));
    return type + ": " + nb::cast<std::string>(nb::str(error.value()));
  }

  data::Sample copied(const AnyArray& values, int32_t label, data::Scratch& scratch) const {
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
            .label = label};
  }

  std::shared_ptr<nb::object> read_;
  mutable std::vector<std::atomic<int32_t>> labels_;  ///< Below 0: not read yet.
};

}  // namespace

Data item_data(const std::string& name, int64_t size, const std::vector<int64_t>& sample,
               bool is_bytes, int64_t classes, const nb::object& read) {
  return {std::make_shared<ItemData>(data::DatasetInfo{.name = name,
                                                       .size = size,
                                                       .dtype = is_bytes ? DType::u8 : DType::f32,
                                                       .channels = sample.at(0),
                                                       .height = sample.at(1),
                                                       .width = sample.at(2),
                                                       .classes = data::numbered_classes(classes)},
                                     read)};
}

}  // namespace syrtos::python
