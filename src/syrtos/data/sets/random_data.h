#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Samples and labels made of random numbers, for measuring and trying out. A sample depends on the
/// seed and its index alone. Values have mean 0 and deviation 1.
///
/// All samples are pieces of one long row of numbers, so that reading one costs nothing and what is
/// measured with them is not the making of random numbers. Their places overlap and, of many,
/// repeat, with other labels: there is nothing to be learnt from them.
class RandomDataset : public Dataset {
 public:
  /// `shape` is [channels, height, width].
  RandomDataset(int64_t size, const Shape& shape, int64_t classes, uint64_t seed);

  int32_t label(int64_t index) const override;
  Sample read(int64_t index, Scratch& scratch) const override;

 private:
  uint64_t seed_;
  std::vector<float> numbers_;
};

}  // namespace syrtos::data
