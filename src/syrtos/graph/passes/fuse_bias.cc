#include <memory>

#include "syrtos/graph/passes/fusions.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/reshape.h"

namespace syrtos::graph {

namespace {

/// A copy of the operation in the slot with its bias switched on; nullptr where it has none.
template <typename OpType>
std::shared_ptr<OpType> with_bias(const Rewriter& rewriter, NodeId slot) {
  const auto* op = rewriter.op<OpType>(slot);
  if (op == nullptr || op->bias) return nullptr;
  auto copy = std::make_shared<OpType>(*op);
  copy->bias = true;
  return copy;
}

std::shared_ptr<const ops::Op> linear_with_bias(const Rewriter& rewriter, NodeId slot) {
  if (const auto* conv = rewriter.op<ops::Conv>(slot); conv != nullptr && !conv->relu) {
    return with_bias<ops::Conv>(rewriter, slot);
  }
  if (const auto* matmul = rewriter.op<ops::MatMul>(slot); matmul != nullptr && !matmul->relu) {
    // The bias of several matrices would be one of their number, not of their columns.
    if (rewriter.type(rewriter.node(slot)->outputs[0]).shape.rank() != 2) return nullptr;
    return with_bias<ops::MatMul>(rewriter, slot);
  }
  return nullptr;
}

}  // namespace

//   t = conv(src, weights); y = bias_add(t, bias)    ->    y = conv+bias(src, weights, bias)
// where nobody else uses t. The backward rules use neither t nor y.
void fuse_bias(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    if (rewriter.op<ops::BiasAdd>(slot) == nullptr) continue;
    const Node& bias_add = *rewriter.node(slot);
    const NodeId before = rewriter.producer(bias_add.inputs[0]);
    const auto op = linear_with_bias(rewriter, before);
    if (op == nullptr || !rewriter.used_once(bias_add.inputs[0])) continue;
    Node fused = *rewriter.node(before);
    fused.op = op;
    fused.inputs.push_back(bias_add.inputs[1]);
    fused.outputs = bias_add.outputs;
    rewriter.fuse({before, slot}, std::move(fused));
  }
}

namespace {

/// The f32 values [columns] that are added to each row, where `value` is those or their rounding;
/// else kNone.
ValueId row_bias(const Rewriter& rewriter, ValueId value, int64_t columns) {
  const TensorType bias{DType::f32, {columns}};
  if (rewriter.type(value) == bias) return value;
  const NodeId before = rewriter.producer(value);
  if (rewriter.op<ops::Cast>(before) == nullptr) return kNone;
  const ValueId source = rewriter.node(before)->inputs[0];
  return rewriter.type(source) == bias ? source : kNone;
}

/// The product of two matrices whose rows, perhaps reshaped, are the value, and nothing else; else
/// kNone.
NodeId product_of_rows(const Rewriter& rewriter, ValueId value, int64_t columns) {
  NodeId slot = rewriter.producer(value);
  if (!rewriter.used_once(value)) return kNone;
  if (rewriter.op<ops::Reshape>(slot) != nullptr) {
    value = rewriter.node(slot)->inputs[0];
    if (!rewriter.used_once(value)) return kNone;
    slot = rewriter.producer(value);
  }
  const auto* matmul = rewriter.op<ops::MatMul>(slot);
  if (matmul == nullptr || matmul->bias || matmul->relu) return kNone;
  const Shape& shape = rewriter.type(value).shape;
  return shape.rank() == 2 && shape[1] == columns ? slot : kNone;
}

}  // namespace

//   y = reshape(matmul(a, b)) + bias    ->    y = reshape(matmul+bias(a, b, bias))
// where the bias is one number for each column, as exporters write dense layers on rows of rows.
void fuse_row_bias(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    const auto* sum = rewriter.op<ops::Binary>(slot);
    if (sum == nullptr || sum->kind != ops::BinaryKind::add) continue;
    const Node node = *rewriter.node(slot);
    const Shape& result = rewriter.type(node.outputs[0]).shape;
    const int64_t columns = result.rank() == 0 ? 0 : result[result.rank() - 1];
    for (size_t i = 0; i < 2; ++i) {
      if (!(rewriter.type(node.inputs[i]).shape == result)) continue;
      const ValueId bias = row_bias(rewriter, node.inputs[1 - i], columns);
      const NodeId product = product_of_rows(rewriter, node.inputs[i], columns);
      if (bias == kNone || product == kNone || rewriter.producer(bias) >= product) continue;
      Node fused = *rewriter.node(product);
      fused.op = with_bias<ops::MatMul>(rewriter, product);
      fused.inputs.push_back(bias);
      rewriter.put(product, std::move(fused));
      rewriter.replace_value(node.outputs[0], node.inputs[i]);
      rewriter.remove(slot);
      break;
    }
  }
}

//   b = bias_add.backward(g); w = conv.backward_weights(src, g)
//   ->  w, b = conv.backward_weights+bias(src, g)
void fuse_bias_backward(Rewriter& rewriter) {
  for (NodeId slot = 0; slot < rewriter.slots(); ++slot) {
    auto op = with_bias<ops::ConvBackwardWeights>(rewriter, slot);
    if (op == nullptr) continue;
    Node fused = *rewriter.node(slot);
    fused.op = op;
    for (const NodeId user : std::vector(rewriter.users(fused.inputs[1]))) {
      if (rewriter.op<ops::BiasBackward>(user) == nullptr) continue;
      fused.outputs.push_back(rewriter.node(user)->outputs[0]);
      if (rewriter.fuse({slot, user}, fused)) break;
      fused.outputs.pop_back();
    }
  }
}

}  // namespace syrtos::graph
