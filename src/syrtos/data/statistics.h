#pragma once

#include <functional>
#include <limits>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// What the values and labels of a data set look like.
struct Statistics {
  int64_t samples = 0;       ///< that were looked at
  std::vector<double> mean;  ///< one per channel; 0..255 for u8
  std::vector<double> deviation;
  std::vector<int64_t> per_class;  ///< samples of each class
  int64_t smallest_height = 0;
  int64_t smallest_width = 0;
  int64_t largest_height = 0;
  int64_t largest_width = 0;

  /// Mean and deviation in the form that the pipeline takes; a channel that never changes is not
  /// divided.
  Normalization normalization() const;
};

/// Reads `most_samples` samples, spread evenly over the data set, with all threads. The result does
/// not depend on how many threads there are. `done(samples)` is called on the calling thread now
/// and then; false ends the work (RunError).
Statistics measure(const Dataset& dataset,
                   int64_t most_samples = std::numeric_limits<int64_t>::max(),
                   const std::function<bool(int64_t)>& done = {});

/// What values are normalised by: of tables each column by itself, else each channel. Reads as
/// measure() does.
Normalization measure_normalization(const Dataset& dataset, int64_t most_samples);

}  // namespace syrtos::data
