#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "syrtos/ops/native/strided.h"
#include "syrtos/tensor/dtype.h"
#include "syrtos/tensor/shape.h"

// Functions of one, two or three numbers, element by element, over operands that may be repeated.

namespace syrtos::ops::native {

enum PointwiseFunction {
  // Of one number, in the order of ops::PointwiseKind.
  kNegative,
  kAbsolute,
  kSquareRoot,
  kExponential,
  kLogarithm,
  kErf,
  kReciprocal,
  kLeakyRelu,
  kElu,
  kSoftplus,
  kHardSigmoid,
  kHardSwish,
  kClip,
  kExactGelu,
  kSilu,
  // (src, diff_dst), in the same order.
  kNegativeBackward,
  kAbsoluteBackward,
  kSquareRootBackward,
  kExponentialBackward,
  kLogarithmBackward,
  kErfBackward,
  kReciprocalBackward,
  kLeakyReluBackward,
  kEluBackward,
  kSoftplusBackward,
  kHardSigmoidBackward,
  kHardSwishBackward,
  kClipBackward,
  kExactGeluBackward,
  kSiluBackward,
  // Of two numbers, in the order of ops::BinaryKind.
  kSum,
  kDifference,
  kProduct,
  kQuotient,
  kPower,
  kMinimum,
  kMaximum,
  kEqual,
  // (a, b, diff_dst), in the order of ops::BinaryKind from divide to maximum, of a and of b.
  kQuotientBackwardA,
  kQuotientBackwardB,
  kPowerBackwardA,
  kPowerBackwardB,
  kMinimumBackwardA,
  kMinimumBackwardB,
  kMaximumBackwardA,
  kMaximumBackwardB,
  kPointwiseFunctions
};

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
