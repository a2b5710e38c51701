#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// dst[i...] = src[begin + i*stride ...], `size` elements along each axis.
class Slice : public Op {
 public:
  Shape begin;
  Shape size;
  Shape stride;

  std::string_view name() const override { return "slice"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// Zeros (or `value`) around (`before`, `after`) and between (`between`) the elements of each axis:
/// the inverse of Slice, and its gradient.
class Pad : public Op {
 public:
  Shape before;
  Shape after;
  Shape between;
  float value = 0;

  std::string_view name() const override { return "pad"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
