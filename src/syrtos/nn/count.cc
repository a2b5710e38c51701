#include "syrtos/nn/model.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/recurrence.h"

namespace syrtos::nn {

int64_t parameter_count(const graph::Graph& graph) {
  int64_t count = 0;
  for (const ValueId id : graph.values_of(graph::ValueKind::parameter)) {
    count += graph.type(id).shape.elements();
  }
  return count;
}

int64_t multiply_adds(const graph::Graph& graph, const graph::Node& node) {
  const ops::Op* op = node.op.get();
  const int64_t results = graph.type(node.outputs[0]).shape.elements();
  if (dynamic_cast<const ops::Conv*>(op) != nullptr) {
    return results * graph.type(node.inputs[1]).shape.elements_from(1);
  }
  if (dynamic_cast<const ops::ConvBackwardData*>(op) != nullptr) {  // a transposed convolution
    return graph.type(node.inputs[0]).shape.elements() *
           graph.type(node.inputs[1]).shape.elements_from(1);
  }
  if (const auto* matmul = dynamic_cast<const ops::MatMul*>(op)) {
    const Shape& a = graph.type(node.inputs[0]).shape;
    return results * a[a.rank() - (matmul->transpose_a ? 2 : 1)];
  }
  if (dynamic_cast<const ops::Recurrence*>(op) != nullptr) {
    return results * graph.type(node.inputs[1]).shape[0];
  }
  return 0;
}

int64_t multiply_adds(const graph::Graph& graph) {
  const ValueId images = graph.find("images");
  const int64_t batch = images == graph::kNone ? 1 : graph.type(images).shape[0];
  int64_t sum = 0;
  for (const graph::Node& node : graph.nodes()) {
    if (node.phase == graph::Phase::forward) sum += multiply_adds(graph, node);
  }
  return sum / batch;
}

}  // namespace syrtos::nn
