#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "syrtos/tensor/dtype.h"
#include "syrtos/tensor/shape.h"

namespace syrtos::data {

/// Where the samples of a batch are put: images one after the other, channels-last and normalised,
/// in f32 or bf16, and one label for each.
struct BatchView {
  void* images = nullptr;
  DType dtype = DType::f32;
  std::span<int32_t> labels;
};

/// Images with labels that can be read in any order. Reading is thread-safe and does not allocate.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual std::string name() const = 0;
  virtual int64_t size() const = 0;
  /// [channels, height, width]
  virtual Shape image_shape() const = 0;
  virtual int64_t classes() const = 0;
  /// Puts the samples of these indices into the batch, in this order. As many labels as indices.
  virtual void fill(std::span<const int64_t> indices, const BatchView& batch) const = 0;
};

/// A data set to learn from and one to measure with.
struct DataPair {
  std::unique_ptr<Dataset> train;
  std::unique_ptr<Dataset> test;
};

}  // namespace syrtos::data
