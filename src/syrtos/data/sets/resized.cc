#include "syrtos/data/sets/resized.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::data {

Window fit_window(Fit fit, int64_t height, int64_t width, int64_t out_height, int64_t out_width) {
  const auto h = static_cast<double>(height);
  const auto w = static_cast<double>(width);
  if (fit == Fit::exact) return {0, 0, h, w};
  const double per_pixel =
      std::min(h / static_cast<double>(out_height), w / static_cast<double>(out_width)) * 7 / 8;
  const double part_h = per_pixel * static_cast<double>(out_height);
  const double part_w = per_pixel * static_cast<double>(out_width);
  return {(h - part_h) / 2, (w - part_w) / 2, part_h, part_w};
}

Resized::Resized(std::unique_ptr<Dataset> of, int64_t height, int64_t width, Fit fit)
    : of_(std::move(of)), fit_(fit) {
  info_ = of_->info();
  if (info_.dtype != DType::u8) {
    fail_request("{}: expected pictures (u8) to bring to {}x{}, found {}", info_.name, height,
                 width, to_string(info_.dtype));
  }
  SYRTOS_CHECK(height > 0 && width > 0, "{}x{}", height, width);
  info_.height = height;
  info_.width = width;
}

Sample Resized::read(int64_t index, Scratch& scratch) const {
  Sample sample = of_->read(index, scratch);
  scratch.scaled.resize(static_cast<size_t>(info_.shape().elements()));
  resize(sample.bytes(), sample.height, sample.width, sample.channels,
         fit_window(fit_, sample.height, sample.width, info_.height, info_.width),
         scratch.scaled.data(), info_.height, info_.width, scratch.resize);
  of_->check();
  sample.values = scratch.scaled.data();
  sample.height = info_.height;
  sample.width = info_.width;
  return sample;
}

}  // namespace syrtos::data
