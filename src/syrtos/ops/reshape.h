#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// The same elements, in row-major order, under another shape. Costs nothing where src lies plain,
/// and where it lies channels-last and batch and channels stay; elsewhere one copy.
class Reshape : public Op {
 public:
  Shape shape;
  explicit Reshape(Shape s) : shape(s) {}

  std::string_view name() const override { return "reshape"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
