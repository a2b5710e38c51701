#pragma once

#include <span>

#include "syrtos/ops/binary.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/op.h"
#include "syrtos/ops/pool.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/tensor/tensor.h"

// Operations as other formats know them, made of the engine's own. What shaping.h says of shapes
// and axes holds here too. Values in f32 and bf16 may meet: the result is bf16, and what is f32 is
// rounded first. Functions of one number are ops::Pointwise, Activation and Gelu.

namespace syrtos::ops {

/// A tensor that is not trained and never changes; f32, bf16 or s32.
ValueId literal(GraphBuilder& graph, Tensor value);
/// x in another type, f32 or bf16.
ValueId cast(GraphBuilder& graph, ValueId x, DType dtype);

/// Element by element, broadcast as in NumPy.
ValueId binary(GraphBuilder& graph, BinaryKind kind, ValueId a, ValueId b);

/// As numpy.matmul: the last two axes are matrices, the others are broadcast; a vector is a row on
/// the left and a column on the right.
ValueId matmul(GraphBuilder& graph, ValueId a, ValueId b);

struct GemmOptions {
  float alpha = 1;
  float beta = 1;
  bool transpose_a = false;
  bool transpose_b = false;
};
/// alpha * a * b + beta * c of matrices; c may be kNone and is broadcast.
ValueId gemm(GraphBuilder& graph, ValueId a, ValueId b, ValueId c, const GemmOptions& options);

/// Along any axis; with `log` its logarithm.
ValueId softmax(GraphBuilder& graph, ValueId x, int64_t axis, bool log = false);

/// Over the axes, or over all when none is named; `keep` leaves them with extent 1. A result of
/// rank 0 has the shape [1].
ValueId reduce(GraphBuilder& graph, ValueId x, ReduceKind kind, std::span<const int64_t> axes,
               bool keep);

/// [N,C,spatial...] -> [N,C,1...]; any number of spatial axes.
ValueId global_pool(GraphBuilder& graph, ValueId x, PoolKind kind);

/// Over all axes from `axis` on; scale and shift of their shape. Either may be kNone.
ValueId layer_norm(GraphBuilder& graph, ValueId x, int64_t axis, ValueId scale, ValueId shift,
                   float epsilon = 1e-5F);
/// x [N,C,...]; scale and shift [C]. As many groups as channels: instance norm. Either may be
/// kNone.
ValueId group_norm(GraphBuilder& graph, ValueId x, int64_t groups, ValueId scale, ValueId shift,
                   float epsilon = 1e-5F);

struct ConvTransposeOptions {
  Window window;  ///< of the convolution whose data gradient it is; padding cuts the result
  std::array<int64_t, 2> output_padding{0, 0};
  int64_t groups = 1;
};
/// x [N,I,spatial], weights [I,O/groups,kernel] -> [N,O,spatial']: along each axis
/// stride * (in - 1) + output_padding + dilation * (kernel - 1) + 1 - padding.
ValueId conv_transpose(GraphBuilder& graph, ValueId x, ValueId weights,
                       const ConvTransposeOptions& options);

}  // namespace syrtos::ops
