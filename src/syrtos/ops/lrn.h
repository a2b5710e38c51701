#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Across channels: dst = src / (k + alpha/size * sum of src^2 over the `size` channels
/// around)^beta.
class LocalResponseNorm : public Op {
 public:
  int64_t size = 5;
  float alpha = 1e-4F;
  float beta = 0.75F;
  float k = 1.0F;

  std::string_view name() const override { return "lrn"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (src, diff_dst) -> diff_src.
class LocalResponseNormBackward : public Op {
 public:
  int64_t size = 5;
  float alpha = 1e-4F;
  float beta = 0.75F;
  float k = 1.0F;

  std::string_view name() const override { return "lrn.backward"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
