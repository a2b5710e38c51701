#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/tensor/tensor.h"

namespace syrtos::nn {

/// How many values one output is made of (in), and how many outputs one input takes part in (out).
struct Fans {
  int64_t in = 1;
  int64_t out = 1;
};

/// Of a dense kernel [out, in] or a convolution's [out, in / groups, spatial...].
Fans fans_of(const Shape& shape);

enum class InitKind {
  constant,        ///< value everywhere
  uniform,         ///< in [-value, value)
  glorot_uniform,  ///< variance 2 / (in + out)
  glorot_normal,
  he_uniform,  ///< variance 2 / in
  he_normal,
  lecun_uniform,  ///< variance 1 / in
  lecun_normal,
  orthogonal,  ///< rows (or columns, if there are fewer) orthogonal, of length value
  dirac,       ///< first outputs: the input of the same number; the others as uniform 1 / sqrt(in)
  whitening,   ///< outputs are the uncorrelated parts of image patches, and their negatives
};

/// The covariance of the values of patches of images. A patch lies as a kernel does:
/// [channel][y][x].
struct PatchCovariance {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<double> matrix;  ///< row-major, (channels * height * width)^2

  /// Of white noise.
  static PatchCovariance identity(const Shape& shape);
};

/// [channels, height, width] of the patches that a kernel [out, channels, (height,) width] sees.
Shape patch_shape(const Shape& kernel);

/// The starting value of a parameter.
struct Initializer {
  InitKind kind = InitKind::constant;
  float value = 0;  ///< of constant, uniform and orthogonal
  /// The tensor is those of so many networks, one behind the other along its first axis: each
  /// starts as it would alone, the first from the seed, the next from the one after it.
  int64_t members = 1;
  bool apart = false;  ///< that axis has one place for each member

  static Initializer constant(float value) { return {InitKind::constant, value}; }
  static Initializer uniform(float bound) { return {InitKind::uniform, bound}; }
  static Initializer glorot_uniform() { return {InitKind::glorot_uniform}; }
  static Initializer glorot_normal() { return {InitKind::glorot_normal}; }
  static Initializer he_uniform() { return {InitKind::he_uniform}; }
  static Initializer he_normal() { return {InitKind::he_normal}; }
  static Initializer lecun_uniform() { return {InitKind::lecun_uniform}; }
  static Initializer lecun_normal() { return {InitKind::lecun_normal}; }
  static Initializer orthogonal(float gain = 1) { return {InitKind::orthogonal, gain}; }
  static Initializer dirac() { return {InitKind::dirac}; }
  static Initializer whitening() { return {InitKind::whitening}; }
};

/// "he_normal", "constant 1"
std::string to_string(const Initializer& initializer);

/// Fills `tensor` (f32 or bf16). Each element is a function of the seed, the parameter's name and
/// its index alone: neither the order of the parameters nor the number of threads matters.
/// Whitening is a function of `patches` instead (identity without them), which must be of the
/// kernel's size.
void initialize(Tensor& tensor, const Initializer& initializer, uint64_t seed,
                std::string_view name, const PatchCovariance* patches = nullptr);

}  // namespace syrtos::nn
