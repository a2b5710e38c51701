#pragma once

#include <limits>
#include <vector>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// What one of the values that samples have looks like.
struct ValueStatistics {
  double mean = 0;
  double deviation = 0;
  double least = 0;
  double most = 0;
};

/// One for each value of a sample, of so many samples spread evenly over the data set.
std::vector<ValueStatistics> measure_targets(
    const Dataset& dataset, int64_t most_samples = std::numeric_limits<int64_t>::max());

/// Mean and deviation of each; a value that never changes is not divided.
Normalization normalization_of(const std::vector<ValueStatistics>& values);

}  // namespace syrtos::data
