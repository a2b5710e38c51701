// What depends on literals alone is computed when the graph is, by the naive references.

#include <algorithm>

#include "syrtos/graph/passes/fusions.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/dropout.h"
#include "syrtos/ops/literal.h"

namespace syrtos::graph {

namespace {

constexpr int64_t kLargest = 1 << 22;  // elements; beyond, a program would rather compute

bool is_known(const Rewriter& rewriter, ValueId value) {
  const NodeId slot = rewriter.producer(value);
  return rewriter.op<ops::Literal>(slot) != nullptr || rewriter.op<ops::Constant>(slot) != nullptr;
}

ops::RefTensor known_value(const Rewriter& rewriter, ValueId value) {
  std::vector<ops::RefTensor> result(1, ops::RefTensor(rewriter.type(value).shape));
  rewriter.node(rewriter.producer(value))->op->reference({}, result, {});
  return std::move(result[0]);
}

}  // namespace

bool fold_literals(Rewriter& rewriter, NodeId slot) {
  const Node node = *rewriter.node(slot);
  if (node.inputs.empty() || node.outputs.size() != 1 || node.op->has_side_effects()) return false;
  if (rewriter.op<ops::Dropout>(slot) != nullptr) return false;
  const TensorType type = rewriter.type(node.outputs[0]);
  if (type.shape.elements() > kLargest || rewriter.is_gradient(node.outputs[0])) return false;
  if (!std::all_of(node.inputs.begin(), node.inputs.end(),
                   [&](ValueId input) { return input != kNone && is_known(rewriter, input); })) {
    return false;
  }
  std::vector<ops::RefTensor> inputs;
  for (const ValueId input : node.inputs) inputs.push_back(known_value(rewriter, input));
  std::vector<ops::RefTensor> outputs(1, ops::RefTensor(type.shape));
  node.op->reference(inputs, outputs, {});
  Tensor value(type);
  for (int64_t i = 0; i < value.elements(); ++i) {
    value.set(i, static_cast<float>(outputs[0][i]));
  }
  rewriter.put(slot,
               {std::make_shared<ops::Literal>(value), {}, node.outputs, node.name, node.phase});
  return true;
}

}  // namespace syrtos::graph
