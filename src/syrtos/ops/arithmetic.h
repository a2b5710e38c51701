#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Sum of two or more inputs of one type, then ReLU if fused.
class Add : public Op {
 public:
  bool relu = false;  ///< set by fusion

  std::string_view name() const override { return "add"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// Element by element; two inputs of one type.
class Multiply : public Op {
 public:
  std::string_view name() const override { return "multiply"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// dst = factor * src.
class Scale : public Op {
 public:
  float factor = 1;
  explicit Scale(float f) : factor(f) {}

  std::string_view name() const override { return "scale"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// dst = src * factor, where factor is a value of shape [1] (f32).
class ScaleBy : public Op {
 public:
  std::string_view name() const override { return "scale_by"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// A tensor filled with one value; no inputs.
class Constant : public Op {
 public:
  TensorType type;
  float value = 0;

  std::string_view name() const override { return "constant"; }
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
