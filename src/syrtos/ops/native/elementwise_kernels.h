#pragma once

#include <cstdint>

#include "syrtos/ops/native/kernel_table.h"

namespace syrtos::ops::native {

enum UnaryFunction { kRelu, kSigmoid, kTanh, kGelu, kUnaryFunctions };
enum BinaryFunction {
  kAdd,
  kAddRelu,
  kMultiply,
  kReluBackward,
  kSigmoidBackward,
  kTanhBackward,
  kGeluBackward,
  kBinaryFunctions
};

/// All on a range: pointers are to its first element.
struct ElementwiseKernels {
  void (*unary[kUnaryFunctions][kElementTypes])(int64_t n, const void* src, void* dst);
  void (*binary[kBinaryFunctions][kElementTypes])(int64_t n, const void* a, const void* b,
                                                  void* dst);
  void (*scale[kElementTypes])(int64_t n, const void* src, float factor, void* dst);
  void (*fill[kElementTypes])(int64_t n, float value, void* dst);
  /// On the elements [begin, end) of the inputs.
  void (*add_n[kElementTypes])(int64_t begin, int64_t end, int count, const void* const* src,
                               void* dst);
  void (*bias_add[kElementTypes])(int64_t rows, int64_t channels, const void* src,
                                  const float* bias, bool relu, void* dst);
  void (*convert[kElementTypes][kElementTypes])(int64_t n, const void* src, void* dst);
};

SYRTOS_DECLARE_KERNELS(ElementwiseKernels, elementwise_kernels)

}  // namespace syrtos::ops::native
