#include "syrtos/graph/columns.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/worker_exchange.h"

namespace syrtos::graph {

namespace {

/// Nodes that use each value; an output of the graph counts as one more.
std::vector<int> uses_of(const Graph& graph) {
  std::vector<int> uses(graph.values().size());
  for (const Node& node : graph.nodes()) {
    for (const ValueId input : node.inputs) {
      if (input != kNone) ++uses[static_cast<size_t>(input)];
    }
  }
  for (const auto& [name, id] : graph.outputs()) ++uses[static_cast<size_t>(id)];
  return uses;
}

/// Where a dense layer stands.
struct Place {
  size_t product = 0;  ///< node
  size_t bias = 0;     ///< node; 0: none
};

bool is_trained(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  return value.kind == ValueKind::parameter && !value.frozen();
}

/// Of the images; 0: there are none.
int64_t batch_of(const Graph& graph) {
  const std::vector<ValueId> inputs = graph.values_of(ValueKind::input);
  const Shape images = inputs.empty() ? Shape{} : graph.type(inputs[0]).shape;
  return images.rank() > 0 ? images[0] : 0;
}

/// Of the samples of a batch: workers divide those, not whatever else rows may be.
bool is_dense(const Graph& graph, const Node& node, const std::vector<int>& uses, int64_t batch) {
  const auto* product = dynamic_cast<const ops::MatMul*>(node.op.get());
  if (product == nullptr || product->transpose_a || !product->transpose_b || product->bias ||
      product->relu) {
    return false;
  }
  const ValueId weight = node.inputs[1];
  return is_trained(graph, weight) && uses[static_cast<size_t>(weight)] == 1 &&
         graph.type(node.inputs[0]).shape.rank() == 2 && graph.type(weight).shape.rank() == 2 &&
         graph.type(node.inputs[0]).shape[0] == batch && !is_trained(graph, node.inputs[0]);
}

std::vector<Place> places_of(const Graph& graph) {
  const std::vector<int> uses = uses_of(graph);
  const int64_t batch = batch_of(graph);
  std::vector<Place> places;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!is_dense(graph, node, uses, batch)) continue;
    Place& place = places.emplace_back();
    place.product = n;
    if (uses[static_cast<size_t>(node.outputs[0])] != 1) continue;
    for (size_t next = n + 1; next < graph.nodes().size(); ++next) {
      const Node& user = graph.nodes()[next];
      const bool adds = dynamic_cast<const ops::BiasAdd*>(user.op.get()) != nullptr &&
                        user.inputs[0] == node.outputs[0];
      if (adds && is_trained(graph, user.inputs[1]) &&
          uses[static_cast<size_t>(user.inputs[1])] == 1) {
        place.bias = next;
      }
    }
  }
  return places;
}

/// The layer's nodes in their new form, in front of whatever reads its result.
class Rewriter {
 public:
  Rewriter(Graph& graph, const ColumnSplit& split) : graph_(graph), split_(split) {}

  void run() {
    std::vector<Node> nodes = graph_.nodes();
    std::vector<std::vector<Node>> instead(nodes.size());
    std::vector<bool> replaced(nodes.size());
    size_t found = 0;
    for (const Place& place : places_of(graph_)) {
      const ColumnSplit::Layer* layer =
          split_.find(graph_.value(nodes[place.product].inputs[1]).name);
      if (layer == nullptr) continue;
      ++found;
      // They stand where the last of the old ones stood.
      instead[std::max(place.product, place.bias)] = divided(nodes, place, *layer);
      replaced[place.product] = true;
      if (place.bias > 0) replaced[place.bias] = true;
    }
    SYRTOS_CHECK(found == split_.layers.size(), "{} of {} layers", found, split_.layers.size());
    std::vector<Node> all;
    for (size_t n = 0; n < nodes.size(); ++n) {
      if (!replaced[n]) all.push_back(std::move(nodes[n]));
      for (Node& node : instead[n]) all.push_back(std::move(node));
    }
    graph_.set_nodes(std::move(all));
  }

 private:
  template <typename Exchange>
  std::shared_ptr<Exchange> exchange(const std::vector<int64_t>& columns) const {
    auto op = std::make_shared<Exchange>();
    op->rows = split_.rows;
    op->columns = columns;
    op->worker = split_.worker;
    return op;
  }

  /// `like` with another operation, and a value of its own unless `output` is given.
  Node node(const Node& like, std::shared_ptr<const ops::Op> op, std::vector<ValueId> inputs,
            ValueId output = kNone) {
    std::vector<TensorType> types;
    for (const ValueId input : inputs) types.push_back(graph_.type(input));
    const TensorType type = op->infer(types)[0];
    if (output == kNone) output = graph_.add_computed(type);
    SYRTOS_CHECK(graph_.type(output) == type, "{} {}", to_string(graph_.type(output)),
                 to_string(type));
    Node made = like;
    made.op = std::move(op);
    made.inputs = std::move(inputs);
    made.outputs = {output};
    return made;
  }

  std::vector<Node> divided(const std::vector<Node>& nodes, const Place& place,
                            const ColumnSplit::Layer& layer) {
    const Node& product = nodes[place.product];
    const ValueId weight = product.inputs[1];
    const auto worker = static_cast<size_t>(split_.worker);
    int64_t first = 0;
    for (size_t w = 0; w < worker; ++w) first += layer.columns[w];
    graph_.take_rows(weight, first, layer.columns[worker]);
    std::vector<Node> made;
    made.push_back(node(product, exchange<ops::GatherRows>({}), {product.inputs[0]}));
    made.push_back(node(product, product.op, {made.back().outputs[0], weight}));
    ValueId result = product.outputs[0];
    if (place.bias > 0) {
      const Node& bias = nodes[place.bias];
      graph_.take_rows(bias.inputs[1], first, layer.columns[worker]);
      made.push_back(node(bias, bias.op, {made.back().outputs[0], bias.inputs[1]}));
      result = bias.outputs[0];
    }
    made.push_back(node(product, exchange<ops::ColumnsToRows>(layer.columns),
                        {made.back().outputs[0]}, result));
    return made;
  }

  Graph& graph_;
  const ColumnSplit& split_;
};

}  // namespace

const ColumnSplit::Layer* ColumnSplit::find(std::string_view weight) const {
  const auto found = std::find_if(layers.begin(), layers.end(),
                                  [&](const Layer& layer) { return layer.weight == weight; });
  return found == layers.end() ? nullptr : &*found;
}

std::vector<DenseLayer> dense_layers(const Graph& graph) {
  std::vector<DenseLayer> layers;
  for (const Place& place : places_of(graph)) {
    const Node& product = graph.nodes()[place.product];
    const Value& weight = graph.value(product.inputs[1]);
    DenseLayer& layer = layers.emplace_back();
    layer.weight = weight.name;
    layer.inputs = weight.type.shape[1];
    layer.outputs = weight.type.shape[0];
    layer.dtype = weight.type.dtype;
    if (place.bias > 0) {
      layer.bias = graph.value(graph.nodes()[place.bias].inputs[1]).name;
    }
  }
  return layers;
}

void split_columns(Graph& graph, const ColumnSplit& split) {
  if (!split.layers.empty()) Rewriter(graph, split).run();
}

}  // namespace syrtos::graph
