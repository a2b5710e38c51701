#pragma once

#include <vector>

#include "syrtos/data/dataset.h"
#include "syrtos/data/pipeline/augment.h"
#include "syrtos/data/pipeline/mixing.h"

namespace syrtos::data {

/// Turns a stored sample into the network's input: placed, varied, normalised, in the type that the
/// first layer computes in. Thread-safe; allocates nothing after the first sample of a scratch.
class Transform {
 public:
  /// Samples have the size of `from`, or any size when the augmentation scales windows of them.
  /// `to` is [channels, height, width].
  Transform(const DatasetInfo& from, const Shape& to, const Normalization& normalization,
            const Augment& augment, DType dtype);

  DType dtype() const { return dtype_; }
  MixedShape shape() const { return {height_, width_, channels_, dtype_}; }
  const Augment& augment() const { return augment_; }
  int64_t elements() const { return height_ * width_ * channels_; }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype_); }

  /// Makes the input for training: varied as the key says.
  void apply(const Sample& sample, const SampleKey& key, void* to, Scratch& scratch) const;
  /// Makes the input for evaluation: as it is, or mirrored, or moved by some pixels.
  void apply(const Sample& sample, const Placement& placement, void* to, Scratch& scratch) const;

 private:
  void check(const Sample& sample) const;
  Sample scaled(const Sample& sample, const SampleKey& key, Scratch& scratch) const;
  const uint8_t* arrange(const Sample& sample, const Placement& placement, Scratch& scratch) const;
  void put_bytes(const uint8_t* from, void* to) const;
  const uint8_t* coloured(const uint8_t* from, const SampleKey& key, Scratch& scratch) const;
  void put_floats(const Sample& sample, const Placement& placement, void* to) const;
  void blank(const Placement& placement, void* to) const;
  void add_noise(const SampleKey& key, void* to) const;

  int64_t channels_;
  int64_t height_;
  int64_t width_;
  Augment augment_;
  DType dtype_;
  std::vector<float> scale_;  // of each value of a row
  std::vector<float> offset_;
};

}  // namespace syrtos::data
