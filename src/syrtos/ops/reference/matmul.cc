#include "syrtos/ops/matmul.h"

#include <algorithm>

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

namespace {

/// Where the matrix begins that belongs to an index of the result: broadcast axes stay at 0.
int64_t matrix_at(const Shape& shape, const Shape& index) {
  int64_t position = 0;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) {
    const int64_t own = index[axis - shape.rank() + index.rank()];
    position = position * shape[axis] + (shape[axis] == 1 ? 0 : own);
  }
  return position * shape.elements_from(shape.rank() - 2);
}

}  // namespace

// dst[...,m,n] = sum over k of op(a)[...,m,k] * op(b)[...,k,n] (+ bias[n]), then max(dst, 0) if
// fused.
void MatMul::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                       const Step& /*step*/) const {
  const RefTensor& a = inputs[0];
  const RefTensor& b = inputs[1];
  const Shape& shape = outputs[0].shape;
  const int64_t rows = shape[shape.rank() - 2];
  const int64_t columns = shape[shape.rank() - 1];
  const int64_t inner = a.shape[a.shape.rank() - (transpose_a ? 2 : 1)];
  for_each_index(shape, [&](const Shape& index, int64_t position) {
    const int64_t m = index[shape.rank() - 2];
    const int64_t n = index[shape.rank() - 1];
    const int64_t from_a = matrix_at(a.shape, index);
    const int64_t from_b = matrix_at(b.shape, index);
    double sum = bias ? inputs[2][n] : 0.0;
    for (int64_t k = 0; k < inner; ++k) {
      sum += a[from_a + (transpose_a ? k * rows + m : m * inner + k)] *
             b[from_b + (transpose_b ? n * inner + k : k * columns + n)];
    }
    outputs[0][position] = relu ? std::max(sum, 0.0) : sum;
  });
}

}  // namespace syrtos::ops
