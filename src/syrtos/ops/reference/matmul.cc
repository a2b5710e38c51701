#include "syrtos/ops/matmul.h"

#include <algorithm>

namespace syrtos::ops {

// dst[m,n] = sum over k of op(a)[m,k] * op(b)[k,n] (+ bias[n]), then max(dst, 0) if fused.
void MatMul::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                       const Step& /*step*/) const {
  const RefTensor& a = inputs[0];
  const RefTensor& b = inputs[1];
  RefTensor& dst = outputs[0];
  const int64_t rows = dst.shape[0];
  const int64_t columns = dst.shape[1];
  const int64_t inner = a.shape[transpose_a ? 0 : 1];
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < columns; ++n) {
      double sum = bias ? inputs[2][n] : 0.0;
      for (int64_t k = 0; k < inner; ++k) {
        sum += a[transpose_a ? k * rows + m : m * inner + k] *
               b[transpose_b ? n * inner + k : k * columns + n];
      }
      dst[m * columns + n] = relu ? std::max(sum, 0.0) : sum;
    }
  }
}

}  // namespace syrtos::ops
