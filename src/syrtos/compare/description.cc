#include "syrtos/compare/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/dropout.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pool.h"

namespace syrtos::compare {

using graph::Node;
using graph::ValueId;
using graph::ValueKind;
using nlohmann::json;

std::string value_name(const graph::Graph& graph, ValueId value) {
  const graph::Value& found = graph.value(value);
  return found.kind == ValueKind::computed ? fmt::format("v{}", value) : found.name;
}

namespace {

json extents(const Shape& shape) { return std::vector<int64_t>(shape.begin(), shape.end()); }

template <typename Op>
const Op& as(const Node& node) {
  const auto* op = dynamic_cast<const Op*>(node.op.get());
  SYRTOS_CHECK(op != nullptr, "{}", node.op->name());
  return *op;
}

class Describer {
 public:
  explicit Describer(const nn::Model& model) : model_(model), graph_(model.graph) {
    for (const Node& node : graph_.nodes()) {
      for (const ValueId input : node.inputs) ++users_[input];
    }
  }

  json nodes() {
    for (size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!merged_.contains(i)) nodes_.push_back(node(i));
    }
    return std::move(nodes_);
  }

 private:
  json node(size_t index) {
    const Node& at = graph_.nodes()[index];
    json result = {{"layer", at.name.empty() ? fmt::format("node{}", index) : at.name},
                   {"inputs", json::array()}};
    for (const ValueId input : at.inputs) {
      if (input != graph::kNone) result["inputs"].push_back(value_name(graph_, input));
    }
    ValueId output = at.outputs[0];
    if (!attributes(at, result)) {
      fail_request(
          "{}: layer {}: the operation {} cannot be described to other frameworks yet; leave the "
          "network out",
          model_.name, at.name, at.op->name());
    }
    const std::string op = result["op"];
    const Node* next = only_user(index, output);
    if ((op == "conv" || op == "dense") && next != nullptr && next->op->name() == "bias_add") {
      result["inputs"].push_back(value_name(graph_, next->inputs[1]));
      output = take(*next);
    } else if (op == "log_softmax" && next != nullptr && next->op->name() == "cross_entropy") {
      cross_entropy(*next, result);
      output = take(*next);
    }
    result["output"] = value_name(graph_, output);
    result["shape"] = extents(graph_.type(output).shape);
    return result;
  }

  /// The node right behind that alone uses this value as its first input.
  const Node* only_user(size_t index, ValueId value) const {
    if (index + 1 >= graph_.nodes().size() || users_.at(value) != 1) return nullptr;
    const Node& next = graph_.nodes()[index + 1];
    return next.inputs.empty() || next.inputs[0] != value ? nullptr : &next;
  }

  ValueId take(const Node& node) {
    merged_.insert(static_cast<size_t>(&node - graph_.nodes().data()));
    return node.outputs[0];
  }

  static void cross_entropy(const Node& node, json& result) {
    const auto& op = as<ops::CrossEntropy>(node);
    if (!op.class_weights.empty()) fail_request("weights of classes cannot be compared yet");
    result["op"] = "cross_entropy";
    result["inputs"].push_back("labels");
    result["smoothing"] = op.smoothing;
  }

  static void window(const ops::Window& window, std::array<int64_t, 2> overhang, json& result) {
    result["kernel"] = window.kernel;
    result["stride"] = window.stride;
    result["dilation"] = window.dilation;
    result["pads"] = {{window.pad_begin[0], window.pad_end[0] + overhang[0]},
                      {window.pad_begin[1], window.pad_end[1] + overhang[1]}};
  }

  bool pool(const Node& node, json& result) const {
    const auto& op = as<ops::Pool>(node);
    const bool max = op.kind == ops::PoolKind::max;
    if (op.adaptive) {
      result["op"] = "adaptive_pool";
      result["kind"] = max ? "max" : "average";
      result["size"] = op.output;
      return graph_.type(node.inputs[0]).shape.rank() == 4;
    }
    result["op"] = max ? "max_pool" : "average_pool";
    window(op.window, op.overhang, result);
    if (!max) result["count_padding"] = op.count_padding;
    const bool hangs_over = op.overhang != std::array<int64_t, 2>{0, 0};
    return op.window.axes == 2 && (max || !hangs_over || !op.count_padding);
  }

  /// False: it cannot be described.
  bool attributes(const Node& node, json& result) const {
    const std::string_view name = node.op->name();
    result["op"] = name;
    if (name == "conv") {
      const auto& op = as<ops::Conv>(node);
      window(op.window, {0, 0}, result);
      result["groups"] = op.groups;
      return op.window.axes == 2;
    }
    if (name == "matmul") {
      const auto& op = as<ops::MatMul>(node);
      result["op"] = "dense";
      return op.transpose_b && !op.transpose_a && graph_.type(node.inputs[0]).shape.rank() == 2 &&
             graph_.value(node.inputs[1]).kind == ValueKind::parameter;
    }
    if (name == "max_pool" || name == "average_pool") return pool(node, result);
    if (name == "batch_norm") {
      const auto& op = as<ops::BatchNorm>(node);
      result["epsilon"] = op.epsilon;
      result["momentum"] = op.momentum;
      return op.training && !op.synchronised;
    }
    if (name == "lrn") {
      const auto& op = as<ops::LocalResponseNorm>(node);
      result.update({{"size", op.size}, {"alpha", op.alpha}, {"beta", op.beta}, {"k", op.k}});
    } else if (name == "dropout") {
      result["rate"] = as<ops::Dropout>(node).rate;
    } else if (name == "scale") {
      result["factor"] = as<ops::Scale>(node).factor;
    } else if (name == "constant") {
      result["value"] = as<ops::Constant>(node).value;
    } else if (name == "concat") {
      result["axis"] = as<ops::Concat>(node).axis;
    } else {
      constexpr std::array<std::string_view, 8> kPlain = {
          "relu", "tanh", "sigmoid", "gelu", "add", "reshape", "bias_add", "log_softmax"};
      return std::find(kPlain.begin(), kPlain.end(), name) != kPlain.end();
    }
    return true;
  }

  const nn::Model& model_;
  const graph::Graph& graph_;
  std::map<ValueId, int> users_;
  std::set<size_t> merged_;
  json nodes_ = json::array();
};

}  // namespace

json describe(const nn::Model& model) {
  const graph::Graph& graph = model.graph;
  const Shape images = graph.type(model.images).shape;
  json result = {{"network", model.name},
                 {"batch", images[0]},
                 {"image", {images[1], images[2], images[3]}},
                 {"classes", graph.type(model.logits).shape[1]},
                 {"parameters", json::array()},
                 {"states", json::array()},
                 {"logits", value_name(graph, model.logits)},
                 {"loss", value_name(graph, model.loss)}};
  for (const graph::Value& value : graph.values()) {
    json entry = {{"name", value.name}, {"shape", extents(value.type.shape)}};
    if (value.kind == ValueKind::parameter) {
      entry.update({{"decay", value.decay}, {"rate", value.rate}});
      result["parameters"].push_back(entry);
    } else if (value.kind == ValueKind::state) {
      result["states"].push_back(entry);
    }
  }
  result["nodes"] = Describer(model).nodes();
  return result;
}

}  // namespace syrtos::compare
