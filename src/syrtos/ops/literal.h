#pragma once

#include "syrtos/ops/op.h"
#include "syrtos/tensor/tensor.h"

namespace syrtos::ops {

/// A tensor that is known when the graph is built and never changes; no inputs, no gradient. A
/// program keeps it once, in whatever layouts its users want: it costs nothing in a step.
class Literal : public Op {
 public:
  Tensor value;  ///< f32, bf16 or s32, in row-major order; shared, not copied: leave it alone
  explicit Literal(Tensor v);

  std::string_view name() const override { return "literal"; }
  /// Type and a hash of the contents.
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;

 private:
  uint64_t hash_ = 0;
};

}  // namespace syrtos::ops
