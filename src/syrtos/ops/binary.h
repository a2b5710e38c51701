#pragma once

#include "syrtos/ops/op.h"

namespace syrtos::ops {

enum class BinaryKind {
  add,
  subtract,
  multiply,
  divide,
  power,
  minimum,
  maximum,
  prelu,  ///< a, below 0 b * a
  equal,  ///< 1 or 0; has no gradient
};

/// The shape of what two values give together: axes are matched from the last one on, and an extent
/// of 1 is repeated. Throws a RequestError that names the operation where they do not fit.
Shape broadcast_shape(const Op& op, const Shape& a, const Shape& b);

/// dst = a ? b, element by element; the shapes are broadcast as in NumPy. Sums and products of two
/// values of one shape are Add and Multiply.
class Binary : public Op {
 public:
  BinaryKind kind = BinaryKind::add;
  explicit Binary(BinaryKind k) : kind(k) {}

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::vector<ValueId> gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                std::span<const ValueId> outputs,
                                std::span<const ValueId> output_gradients) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// (a, b, diff_dst) -> the gradient of a or of b, in the shape of diff_dst: what was repeated is
/// for the caller to sum up. Where a and b are equal, minimum and maximum give each half.
class BinaryBackward : public Op {
 public:
  BinaryKind kind = BinaryKind::divide;
  bool second = false;  ///< of b
  BinaryBackward(BinaryKind k, bool of_b) : kind(k), second(of_b) {}

  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                 const Step& step) const override;
};

/// Adds what sums a value up to a shape that broadcasts to its own.
ValueId sum_to(GraphBuilder& graph, ValueId value, Shape shape);

}  // namespace syrtos::ops
