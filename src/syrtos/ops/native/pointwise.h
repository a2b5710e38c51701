#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "syrtos/ops/native/strided.h"
#include "syrtos/tensor/dtype.h"
#include "syrtos/tensor/shape.h"

// Functions of one, two or three numbers, element by element, over operands that may be repeated.

namespace syrtos::ops::native {

enum class PointwiseFunction {
  // Of one number, in the order of ops::PointwiseKind.
  negative,
  absolute,
  square_root,
  exponential,
  logarithm,
  erf,
  reciprocal,
  leaky_relu,
  elu,
  softplus,
  hard_sigmoid,
  hard_swish,
  clip,
  exact_gelu,
  silu,
  // (src, diff_dst), in the same order.
  negative_backward,
  absolute_backward,
  square_root_backward,
  exponential_backward,
  logarithm_backward,
  erf_backward,
  reciprocal_backward,
  leaky_relu_backward,
  elu_backward,
  softplus_backward,
  hard_sigmoid_backward,
  hard_swish_backward,
  clip_backward,
  exact_gelu_backward,
  silu_backward,
  // Of two numbers, in the order of ops::BinaryKind.
  sum,
  difference,
  product,
  quotient,
  power,
  minimum,
  maximum,
  prelu,
  equal,
  // (a, b, diff_dst), in the order of ops::BinaryKind from divide to prelu, of a and of b.
  quotient_backward_a,
  quotient_backward_b,
  power_backward_a,
  power_backward_b,
  minimum_backward_a,
  minimum_backward_b,
  maximum_backward_a,
  maximum_backward_b,
  prelu_backward_a,
  prelu_backward_b,
  // alpha * src + beta.
  affine,
};

inline constexpr int kPointwiseFunctions = static_cast<int>(PointwiseFunction::affine) + 1;

inline constexpr size_t kMostOperands = 3;

/// A loop over all elements of a result, made once. The result is dense, and its axes are in the
/// order of its memory.
struct PointwiseLoop {
  int64_t outer = 1;                              ///< rows of `inner` elements
  int64_t inner = 1;                              ///< neighbours in the result
  std::array<int64_t, kMostOperands> steps{};     ///< within a row: 0 or 1
  int rank = 0;                                   ///< axes that number the rows
  std::array<int64_t, Shape::kMaxRank> extent{};  ///< of those axes
  std::array<Strides, kMostOperands> strides{};   ///< of the operands along them
  size_t operands = 0;
};

/// The loop for a result of this shape whose elements lie as `result` says; operands have stride 0
/// where they are repeated.
PointwiseLoop pointwise_loop(const Shape& shape, const Strides& result,
                             std::span<const Strides> operands);

/// dst = function(inputs...). dst may be one of the inputs that are not repeated.
void pointwise(PointwiseFunction function, DType dtype, const PointwiseLoop& loop,
               const void* const* inputs, float alpha, float beta, void* dst);

}  // namespace syrtos::ops::native
