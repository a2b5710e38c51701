#pragma once

#include <array>

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// How a window (of a convolution or a pooling) moves over the spatial axes; `axes` is 1 or 2.
/// Padding counts zeros (or, for max pooling, nothing) before and after each axis.
struct Window {
  int axes = 2;
  std::array<int64_t, 2> kernel{1, 1};
  std::array<int64_t, 2> stride{1, 1};
  std::array<int64_t, 2> dilation{1, 1};
  std::array<int64_t, 2> pad_begin{0, 0};
  std::array<int64_t, 2> pad_end{0, 0};

  /// Output extent of one axis: floor((in + pads - dilation*(kernel-1) - 1) / stride) + 1; 0 when
  /// the kernel is larger than the padded input.
  int64_t output(int axis, int64_t input) const;
  /// The paddings for which output = ceil(input / stride): the odd one goes to the end.
  void pad_same(std::span<const int64_t> input);
  std::string to_string() const;
};

/// The spatial extents of a window's output over src [N,C,spatial]. Throws a RequestError that
/// names the operation when the window does not fit.
Shape window_output(const Op& op, const Window& window, const TensorType& src);

/// dst[n,o,p] = sum over i, k of weights[o,i,k] * src[n,i,p*stride - pad + k*dilation] (+ bias[o]),
/// then ReLU if fused. src [N,I,spatial], weights [O,I/groups,kernel], bias [O] f32, dst
/// [N,O,spatial'].
class Conv : public Op {
 public:
  Window window;
  int64_t groups = 1;
  bool bias = false;  ///< a third input; set by fusion
  bool relu = false;  ///< set by fusion

  std::string_view name() const override { return "conv"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

/// (diff_dst [N,O,spatial'], weights) -> diff_src [N,I,spatial], of diff_dst's type. In a forward
/// pass it is a transposed convolution, and has a gradient.
class ConvBackwardData : public Op {
 public:
  Window window;
  int64_t groups = 1;
  Shape src_shape;

  std::string_view name() const override { return "conv.backward_data"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

/// (src, diff_dst) -> diff_weights [O,I/groups,kernel] f32, and diff_bias [O] f32 if fused.
class ConvBackwardWeights : public Op {
 public:
  Window window;
  int64_t groups = 1;
  bool bias = false;  ///< a second output; set by fusion

  std::string_view name() const override { return "conv.backward_weights"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
  double flops(std::span<const TensorType> inputs,
               std::span<const TensorType> outputs) const override;
};

}  // namespace syrtos::ops
