#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Sets each element to zero with probability `rate` and scales the others by 1 / (1 - rate). The
/// mask is a function of (seed, layer, step, sample, element), see base/dropout_mask.h: the
/// backward pass makes it anew. Elements count within the sample in memory order, channels last.
class Dropout : public Op {
 public:
  float rate = 0.5F;
  uint32_t layer = 0;  ///< tells the masks of a network's dropout layers apart

  std::string_view name() const override { return "dropout"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (diff_dst) -> diff_src, with the mask of the forward pass.
class DropoutBackward : public Op {
 public:
  float rate = 0.5F;
  uint32_t layer = 0;

  std::string_view name() const override { return "dropout.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
