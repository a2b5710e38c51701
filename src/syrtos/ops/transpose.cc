#include "syrtos/ops/transpose.h"

#include <fmt/ranges.h>

namespace syrtos::ops {

std::vector<int> inverse_order(const std::vector<int>& order) {
  std::vector<int> inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    inverse[static_cast<size_t>(order[i])] = static_cast<int>(i);
  }
  return inverse;
}

std::string Transpose::attributes() const { return fmt::format("order {}", fmt::join(order, ",")); }

std::vector<TensorType> Transpose::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  const TensorType& src = inputs[0];
  TensorType dst{src.dtype, {}};
  std::vector<bool> seen(static_cast<size_t>(src.shape.rank()));
  for (const int axis : order) {
    if (axis < 0 || axis >= src.shape.rank() || seen[static_cast<size_t>(axis)]) break;
    seen[static_cast<size_t>(axis)] = true;
    dst.shape.append(src.shape[axis]);
  }
  if (static_cast<int>(order.size()) != src.shape.rank() || dst.shape.rank() != src.shape.rank()) {
    fail_shape(*this, fmt::format("expected each axis of src {} once, found [{}]", to_string(src),
                                  fmt::join(order, ", ")));
  }
  return {dst};
}

std::vector<ValueId> Transpose::gradient(GraphBuilder& graph, std::span<const ValueId> /*inputs*/,
                                         std::span<const ValueId> /*outputs*/,
                                         std::span<const ValueId> output_gradients) const {
  return {graph.add_one(std::make_shared<Transpose>(inverse_order(order)), {output_gradients[0]})};
}

}  // namespace syrtos::ops
