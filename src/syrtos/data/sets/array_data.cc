#include "syrtos/data/sets/array_data.h"

#include <cstring>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

/// Whether the values of a sample lie one after the other as [height, width, channels].
bool lies_channels_last(const ArrayView& view) {
  const auto value = static_cast<int64_t>(size_of(view.dtype));
  const int64_t channels = view.sample[0];
  const int64_t height = view.sample[1];
  const int64_t width = view.sample[2];
  return (channels == 1 || view.strides[0] == value) &&
         (height == 1 || view.strides[1] == value * channels * width) &&
         (width == 1 || view.strides[2] == value * channels);
}

template <typename T>
void gather(const ArrayView& view, const std::byte* from, T* to) {
  const auto [along_channels, along_height, along_width] = view.strides;
  for (int64_t y = 0; y < view.sample[1]; ++y) {
    for (int64_t x = 0; x < view.sample[2]; ++x) {
      const std::byte* pixel = from + y * along_height + x * along_width;
      for (int64_t c = 0; c < view.sample[0]; ++c) {
        std::memcpy(to++, pixel + c * along_channels, sizeof(T));
      }
    }
  }
}

}  // namespace

void copy_sample(const ArrayView& view, int64_t index, std::vector<uint8_t>& to) {
  const std::byte* from = view.values + index * view.step;
  to.resize(static_cast<size_t>(view.sample.elements()) * size_of(view.dtype));
  if (view.dtype == DType::u8) {
    gather(view, from, to.data());
  } else {
    gather(view, from, reinterpret_cast<float*>(to.data()));
  }
}

ArrayData::ArrayData(std::string name, ArrayView view, Targets targets, DatasetInfo meaning)
    : view_(std::move(view)), targets_(std::move(targets)), in_order_(lies_channels_last(view_)) {
  SYRTOS_CHECK(targets_.size() == view_.size, "{} {}", targets_.size(), view_.size);
  info_ = std::move(meaning);
  info_.name = std::move(name);
  info_.size = view_.size;
  info_.dtype = view_.dtype;
  info_.channels = view_.sample[0];
  info_.height = view_.sample[1];
  info_.width = view_.sample[2];
}

Sample ArrayData::read(int64_t index, Scratch& scratch) const {
  const std::byte* from = view_.values + index * view_.step;
  Sample sample{.values = from,
                .dtype = info_.dtype,
                .channels = info_.channels,
                .height = info_.height,
                .width = info_.width,
                .target = target(index)};
  // A float at an odd address is no float.
  const auto address = reinterpret_cast<uintptr_t>(from);
  if (in_order_ && address % size_of(info_.dtype) == 0) return sample;
  copy_sample(view_, index, scratch.values);
  sample.values = scratch.values.data();
  return sample;
}

}  // namespace syrtos::data
