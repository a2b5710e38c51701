#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// The same values in another type, f32 or bf16; rounds to nearest even.
class Cast : public Op {
 public:
  DType dtype = DType::f32;
  explicit Cast(DType to) : dtype(to) {}

  std::string_view name() const override { return "cast"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
