#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Exchanges axes: axis i of dst is axis order[i] of src. Costs nothing where the result, plain or
/// channels-last, is the bytes of src as they lie: [N,C,H,W] of images to [N,H,W,C] and back.
class Transpose : public Op {
 public:
  std::vector<int> order;
  explicit Transpose(std::vector<int> o) : order(std::move(o)) {}

  std::string_view name() const override { return "transpose"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// The order that undoes another.
std::vector<int> inverse_order(const std::vector<int>& order);

}  // namespace syrtos::ops
