#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

/// Functions of one number. Some have one or two constants, alpha and beta.
enum class PointwiseKind {
  negative,
  absolute,
  square_root,
  exponential,
  logarithm,
  erf,
  reciprocal,
  leaky_relu,    ///< src, below 0 alpha * src
  elu,           ///< src, below 0 alpha * (exp(src) - 1)
  softplus,      ///< log(1 + exp(src))
  hard_sigmoid,  ///< alpha * src + beta within 0 and 1
  hard_swish,    ///< src * hard_sigmoid(src) with 1/6 and 1/2
  clip,          ///< src within alpha and beta
  exact_gelu,    ///< src times the normal distribution function
  silu,          ///< src * sigmoid(src)
};

/// dst = f(src), element by element.
class Pointwise : public Op {
 public:
  PointwiseKind kind = PointwiseKind::negative;
  float alpha = 0;
  float beta = 0;
  explicit Pointwise(PointwiseKind k, float a = 0, float b = 0) : kind(k), alpha(a), beta(b) {}

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (src, diff_dst) -> diff_src.
class PointwiseBackward : public Op {
 public:
  PointwiseKind kind = PointwiseKind::negative;
  float alpha = 0;
  float beta = 0;
  PointwiseBackward(PointwiseKind k, float a, float b) : kind(k), alpha(a), beta(b) {}

  std::string_view name() const override;
  std::string attributes() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

}  // namespace syrtos::ops
