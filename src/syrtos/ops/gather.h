#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// (src, indices s32 of any shape) -> dst: along `axis` the elements that the indices name, in the
/// indices' shape; those below 0 count from the end. An embedding is a gather of rows (axis 0).
/// Indices that are known beforehand are an AxisMap or a Slice.
class Gather : public Op {
 public:
  int axis = 0;
  explicit Gather(int a) : axis(a) {}

  std::string_view name() const override { return "gather"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (indices, diff_dst) -> diff_src f32: each element is added to the one that it was taken from.
class GatherBackward : public Op {
 public:
  int axis = 0;
  Shape src_shape;
  GatherBackward(int a, Shape src) : axis(a), src_shape(src) {}

  std::string_view name() const override { return "gather.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
