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
  enum class Kind : uint8_t { classes, values, labels };
  /// `shape` is [channels, height, width]; `outputs` the number of classes, values or labels.
  RandomDataset(int64_t size, const Shape& shape, Kind kind, int64_t outputs, uint64_t seed);
  RandomDataset(int64_t size, const Shape& shape, int64_t classes, uint64_t seed)
      : RandomDataset(size, shape, Kind::classes, classes, seed) {}

  /// Values become whole numbers from 0 and below this one.
  void make_whole(int64_t below);

  Target target(int64_t index) const override;
  Sample read(int64_t index, Scratch& scratch) const override;

 private:
  uint64_t seed_;
  std::vector<float> numbers_;
  std::vector<float> labels_;  // of labels: zeros and ones, of which samples have pieces
};

}  // namespace syrtos::data
