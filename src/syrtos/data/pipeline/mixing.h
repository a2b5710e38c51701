#pragma once

#include <span>

#include "syrtos/data/pipeline/augment.h"
#include "syrtos/tensor/dtype.h"

namespace syrtos::data {

/// How a sample is mixed with another: all of it, or a rectangle taken from the other.
struct Mix {
  double share = 1;  ///< of the sample itself
  int64_t top = 0;   ///< of the rectangle, if it has a height
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
};

/// Mixup takes shares of Beta(strength, strength); cutmix a rectangle with such a share of the
/// area, of which what lies beyond the edges is lost. With both, each is used for half of the
/// samples.
Mix place_mix(const Augment& augment, const SampleKey& key, int64_t height, int64_t width);

/// The shape of what is mixed, and its type: f32 or bf16.
struct MixedShape {
  int64_t height = 0;
  int64_t width = 0;
  int64_t channels = 0;
  DType dtype = DType::f32;
};
/// Mixes `other` into `sample`.
void mix(const Mix& how, const MixedShape& shape, const void* other, void* sample);
void mix(const Mix& how, std::span<const float> other, std::span<float> targets);

}  // namespace syrtos::data
