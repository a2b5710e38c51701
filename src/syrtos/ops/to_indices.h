#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Whole numbers in f32 or bf16, as data comes, to s32 of the same shape: what Gather takes. bf16
/// holds those up to 256. Others are rounded. There is no gradient.
class ToIndices : public Op {
 public:
  std::string_view name() const override { return "to_indices"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
