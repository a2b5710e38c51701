#include "syrtos/data/pipeline/transform.h"

#include <algorithm>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/data/pipeline/colours.h"
#include "syrtos/data/pipeline/convert.h"
#include "syrtos/data/pipeline/warp.h"

namespace syrtos::data {

namespace {

constexpr int64_t kNothing = -1;

/// Where position i of an axis of n values comes from when it may lie beyond its ends.
int64_t source_of(int64_t i, int64_t n, Beyond beyond) {
  if (i >= 0 && i < n) return i;
  if (beyond == Beyond::zero) return kNothing;
  if (beyond == Beyond::reflected) i = i < 0 ? -i : 2 * (n - 1) - i;
  return std::clamp<int64_t>(i, 0, n - 1);
}

/// A row of pixels from right to left. One byte after `to` is written too: the next row's.
void copy_flipped(const uint8_t* from, int64_t width, int64_t channels, uint8_t* to) {
  if (channels == 3) {
    // Four bytes at a time: the last one is put right by the next pixel. Not for the rightmost
    // pixel, after which the row may end.
    std::memcpy(to, from + (width - 1) * 3, 3);
    for (int64_t x = 1; x < width; ++x) std::memcpy(to + x * 3, from + (width - 1 - x) * 3, 4);
    return;
  }
  for (int64_t x = 0; x < width; ++x) {
    std::copy_n(from + (width - 1 - x) * channels, channels, to + x * channels);
  }
}

/// A row of the sample moved to the left by `right` pixels.
void copy_moved(const uint8_t* from, int64_t width, int64_t channels, int64_t right, Beyond beyond,
                uint8_t* to) {
  const int64_t begin = std::clamp<int64_t>(-right, 0, width);
  const int64_t end = std::clamp<int64_t>(width - right, begin, width);
  std::memcpy(to + begin * channels, from + (begin + right) * channels,
              static_cast<size_t>((end - begin) * channels));
  const auto put_beyond = [&](int64_t x) {
    const int64_t source = source_of(x + right, width, beyond);
    for (int64_t c = 0; c < channels; ++c) {
      to[x * channels + c] = source == kNothing ? uint8_t{0} : from[source * channels + c];
    }
  };
  for (int64_t x = 0; x < begin; ++x) put_beyond(x);
  for (int64_t x = end; x < width; ++x) put_beyond(x);
}

/// Of the i-th value in a row: values are one for all, one for each channel or one for each column.
float value_for(const std::vector<float>& values, int64_t i) {
  return values[static_cast<size_t>(i) % values.size()];
}

void store(void* to, DType dtype, int64_t at, float value) {
  if (dtype == DType::bf16) {
    static_cast<BFloat16*>(to)[at] = BFloat16(value);
  } else {
    static_cast<float*>(to)[at] = value;
  }
}

bool stays(const Placement& placement) {
  return placement.down == 0 && placement.right == 0 && !placement.flip && !placement.upside_down;
}

int64_t source_row(int64_t y, int64_t height, const Placement& placement) {
  return source_of((placement.upside_down ? height - 1 - y : y) + placement.down, height,
                   placement.beyond);
}

float load(const void* from, DType dtype, int64_t at) {
  return dtype == DType::bf16 ? static_cast<float>(static_cast<const BFloat16*>(from)[at])
                              : static_cast<const float*>(from)[at];
}

}  // namespace

Transform::Transform(const DatasetInfo& from, const Shape& to, const Normalization& normalization,
                     const Augment& augment, DType dtype)
    : channels_(to[0]), height_(to[1]), width_(to[2]), augment_(augment), dtype_(dtype) {
  SYRTOS_CHECK(from.channels == channels_, "{} {}", from.channels, channels_);
  SYRTOS_CHECK(augment.resized_crop > 0 || (from.height == height_ && from.width == width_),
               "{}x{} {}x{}", from.height, from.width, height_, width_);
  const int64_t row = width_ * channels_;
  for (int64_t i = 0; i < row; ++i) {
    const float deviation = value_for(normalization.deviation, i);
    scale_.push_back(1 / deviation);
    offset_.push_back(-value_for(normalization.mean, i) / deviation);
  }
}

// Returns the picture as placed, still in bytes; it is not copied if it stays as it is.
const uint8_t* Transform::arrange(const Sample& sample, const Placement& placement,
                                  Scratch& scratch) const {
  if (stays(placement)) return sample.bytes();
  const int64_t row = width_ * channels_;
  scratch.arranged.resize(static_cast<size_t>((height_ + 1) * row + 1));
  uint8_t* moved = scratch.arranged.data() + height_ * row;  // one row, before it is flipped
  for (int64_t y = 0; y < height_; ++y) {
    uint8_t* to = scratch.arranged.data() + y * row;
    const int64_t source = source_row(y, height_, placement);
    if (source == kNothing) {
      std::memset(to, 0, static_cast<size_t>(row));
      continue;
    }
    const uint8_t* from = sample.bytes() + source * row;
    if (placement.right != 0) {
      uint8_t* target = placement.flip ? moved : to;
      copy_moved(from, width_, channels_, placement.right, placement.beyond, target);
      from = target;
    }
    if (placement.flip) {
      copy_flipped(from, width_, channels_, to);
    } else if (placement.right == 0) {
      std::memcpy(to, from, static_cast<size_t>(row));
    }
  }
  return scratch.arranged.data();
}

const uint8_t* Transform::coloured(const uint8_t* from, const SampleKey& key,
                                   Scratch& scratch) const {
  const auto bytes = static_cast<size_t>(elements());
  if (from != scratch.arranged.data()) {
    scratch.arranged.resize(bytes);
    std::memcpy(scratch.arranged.data(), from, bytes);
  }
  change_colours(place_colours(augment_, key), height_ * width_, channels_,
                 scratch.arranged.data());
  return scratch.arranged.data();
}

void Transform::put_bytes(const uint8_t* from, void* to) const {
  const ConvertKernels& kernels = convert_kernels();
  const int64_t row = width_ * channels_;
  if (dtype_ == DType::bf16) {
    kernels.to_bf16(from, scale_.data(), offset_.data(), height_, row, static_cast<uint16_t*>(to));
  } else {
    kernels.to_f32(from, scale_.data(), offset_.data(), height_, row, static_cast<float*>(to));
  }
}

void Transform::put_floats(const Sample& sample, const Placement& placement, void* to) const {
  const float* from = sample.floats();
  const int64_t row = width_ * channels_;
  if (stays(placement)) {
    for (int64_t y = 0; y < height_; ++y) {
      for (int64_t i = 0; i < row; ++i) {
        const auto at = static_cast<size_t>(i);
        store(to, dtype_, y * row + i, from[y * row + i] * scale_[at] + offset_[at]);
      }
    }
    return;
  }
  for (int64_t y = 0; y < height_; ++y) {
    const int64_t source_y = source_row(y, height_, placement);
    for (int64_t x = 0; x < width_; ++x) {
      const int64_t unflipped = placement.flip ? width_ - 1 - x : x;
      const int64_t source_x = source_of(unflipped + placement.right, width_, placement.beyond);
      for (int64_t c = 0; c < channels_; ++c) {
        const bool inside = source_y != kNothing && source_x != kNothing;
        const float value = inside ? from[(source_y * width_ + source_x) * channels_ + c] : 0;
        const auto at = static_cast<size_t>(x * channels_ + c);
        store(to, dtype_, y * row + static_cast<int64_t>(at), value * scale_[at] + offset_[at]);
      }
    }
  }
}

void Transform::blank(const Placement& placement, void* to) const {
  const int64_t top = std::clamp<int64_t>(placement.cut_top, 0, height_);
  const int64_t bottom = std::clamp<int64_t>(placement.cut_top + placement.cut_height, 0, height_);
  const int64_t left = std::clamp<int64_t>(placement.cut_left, 0, width_);
  const int64_t right = std::clamp<int64_t>(placement.cut_left + placement.cut_width, 0, width_);
  const size_t bytes = size_of(dtype_);
  for (int64_t y = top; y < bottom; ++y) {
    // Zero after normalisation: the mean.
    std::memset(
        static_cast<std::byte*>(to) + static_cast<size_t>((y * width_ + left) * channels_) * bytes,
        0, static_cast<size_t>((right - left) * channels_) * bytes);
  }
}

void Transform::add_noise(const SampleKey& key, void* to) const {
  const auto deviation = static_cast<float>(augment_.noise);
  for (int64_t i = 0; i < elements(); i += 2) {
    const NoisePair noise = noise_pair(key, i / 2);
    store(to, dtype_, i, load(to, dtype_, i) + deviation * noise.first);
    if (i + 1 < elements()) {
      store(to, dtype_, i + 1, load(to, dtype_, i + 1) + deviation * noise.second);
    }
  }
}

Sample Transform::scaled(const Sample& sample, const SampleKey& key, Scratch& scratch) const {
  scratch.scaled.resize(static_cast<size_t>(elements()));
  resize(sample.bytes(), sample.height, sample.width, channels_,
         place_window(augment_.resized_crop, key, sample.height, sample.width),
         scratch.scaled.data(), height_, width_, scratch.resize);
  Sample result = sample;
  result.values = scratch.scaled.data();
  result.height = height_;
  result.width = width_;
  return result;
}

void Transform::check(const Sample& sample) const {
  SYRTOS_CHECK(sample.channels == channels_, "{} {}", sample.channels, channels_);
  SYRTOS_CHECK(sample.height == height_ && sample.width == width_, "{}x{}", sample.height,
               sample.width);
}

void Transform::apply(const Sample& sample, const Placement& placement, void* to,
                      Scratch& scratch) const {
  check(sample);
  if (sample.dtype == DType::u8) {
    put_bytes(arrange(sample, placement, scratch), to);
  } else {
    put_floats(sample, placement, to);
  }
  blank(placement, to);
}

void Transform::apply(const Sample& given, const SampleKey& key, void* to, Scratch& scratch) const {
  Sample sample = augment_.resized_crop > 0 ? scaled(given, key, scratch) : given;
  check(sample);
  if (augment_.warps()) sample = warped(sample, place_warp(augment_, key), scratch);
  const Placement placement = place(augment_, key, height_, width_);
  if (augment_.changes_colours() && sample.dtype == DType::u8) {
    put_bytes(coloured(arrange(sample, placement, scratch), key, scratch), to);
    blank(placement, to);
  } else {
    apply(sample, placement, to, scratch);
  }
  if (augment_.noise > 0) add_noise(key, to);
}

}  // namespace syrtos::data
