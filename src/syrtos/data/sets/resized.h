#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// How a picture of any size fills one of the wanted size.
enum class Fit : uint8_t {
  centre,  ///< scaled to cover 8/7 of the size (256 for 224), then its middle; keeps proportions
  exact,   ///< all of it, stretched
};

/// The part of a picture that becomes the result.
Window fit_window(Fit fit, int64_t height, int64_t width, int64_t out_height, int64_t out_width);

/// Pictures of different sizes brought to one size while they are read.
class Resized : public Dataset {
 public:
  /// Throws RequestError when the samples are not pictures (u8).
  Resized(std::unique_ptr<Dataset> of, int64_t height, int64_t width, Fit fit = Fit::centre);

  Target target(int64_t index) const override { return of_->target(index); }
  Sample read(int64_t index, Scratch& scratch) const override;
  void check() const override { of_->check(); }

 private:
  std::unique_ptr<Dataset> of_;
  Fit fit_;
};

}  // namespace syrtos::data
