#include "syrtos/data/target_statistics.h"

#include <algorithm>
#include <cmath>

namespace syrtos::data {

namespace {

/// Welford's sums: large numbers with a small spread keep their digits.
struct TargetSums {
  double mean = 0;
  double squares = 0;
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  void add(double value, double count) {
    const double difference = value - mean;
    mean += difference / count;
    squares += difference * (value - mean);
    least = std::min(least, value);
    most = std::max(most, value);
  }
};

}  // namespace

std::vector<ValueStatistics> measure_targets(const Dataset& dataset, int64_t most_samples) {
  const int64_t samples = std::min(most_samples, dataset.size());
  std::vector<TargetSums> sums(static_cast<size_t>(dataset.info().targets.values));
  for (int64_t i = 0; i < samples; ++i) {
    const auto index = static_cast<int64_t>(static_cast<__int128>(i) * dataset.size() / samples);
    const Target target = dataset.target(index);
    for (size_t k = 0; k < sums.size(); ++k) {
      sums[k].add(target.values[k], static_cast<double>(i + 1));
    }
  }
  std::vector<ValueStatistics> result;
  const auto count = static_cast<double>(std::max<int64_t>(1, samples));
  for (const TargetSums& one : sums) {
    result.push_back({one.mean, std::sqrt(one.squares / count), one.least, one.most});
  }
  return result;
}

Normalization normalization_of(const std::vector<ValueStatistics>& values) {
  Normalization result;
  for (const ValueStatistics& value : values) {
    result.mean.push_back(static_cast<float>(value.mean));
    result.deviation.push_back(value.deviation > 0 ? static_cast<float>(value.deviation) : 1.0F);
  }
  return result;
}

}  // namespace syrtos::data
