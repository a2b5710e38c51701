#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// dst = op(a) * op(b) (+ bias over the columns), then ReLU if fused; op transposes the last two
/// axes where asked. op(a) [...,M,K], op(b) [...,K,N], bias [N] f32 (of matrices alone), dst
/// [...,M,N]; the axes before the last two are broadcast as in NumPy. A dense layer is a = src
/// [batch,in] and b = weights [out,in] transposed; its gradients are two more products.
class MatMul : public Op {
 public:
  bool transpose_a = false;
  bool transpose_b = false;
  bool f32_output = false;  ///< dst is f32 also for bf16 factors: logits and weight gradients
  bool bias = false;        ///< a third input; set by fusion
  bool relu = false;        ///< set by fusion

  std::string_view name() const override { return "matmul"; }
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

}  // namespace syrtos::ops
