#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Joins the inputs along an axis.
class Concat : public Op {
 public:
  int axis = 1;

  std::string_view name() const override { return "concat"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
