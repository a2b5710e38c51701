#pragma once

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Images and labels made of random numbers, for measuring and trying out; nothing is stored.
/// A sample depends on the seed and its index alone.
class RandomDataset : public Dataset {
 public:
  RandomDataset(int64_t size, Shape image_shape, int64_t classes, uint64_t seed);

  std::string name() const override { return "random"; }
  int64_t size() const override { return size_; }
  Shape image_shape() const override { return image_shape_; }
  int64_t classes() const override { return classes_; }
  void fill(std::span<const int64_t> indices, const BatchView& batch) const override;

 private:
  int64_t size_;
  Shape image_shape_;
  int64_t classes_;
  uint64_t seed_;
};

}  // namespace syrtos::data
