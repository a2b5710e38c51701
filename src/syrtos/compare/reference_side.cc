#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/compare/description.h"
#include "syrtos/compare/ours.h"
#include "syrtos/graph/reference.h"
#include "syrtos/ops/batch_norm.h"

namespace syrtos::compare {

using graph::ValueId;
using graph::ValueKind;

ReferenceSide::ReferenceSide(nn::Model model)
    : model_(std::move(model)), with_gradients_(model_.graph) {
  graph::add_gradients(with_gradients_, model_.loss);
}

void ReferenceSide::set_weights(const Arrays& weights) {
  weights_ = weights;
  kept_.clear();
}

std::map<ValueId, ops::RefTensor> ReferenceSide::evaluate(const Batch& batch, bool backward) {
  const graph::Graph& graph = backward ? with_gradients_ : model_.graph;
  std::map<ValueId, ops::RefTensor> given;
  for (size_t i = 0; i < graph.values().size(); ++i) {
    const graph::Value& value = graph.values()[i];
    if (value.kind == ValueKind::parameter || value.kind == ValueKind::state) {
      given[static_cast<ValueId>(i)] = weights_.at(value.name);
    }
  }
  given[model_.images] = batch.images;
  ops::RefTensor labels({static_cast<int64_t>(batch.labels.size())});
  labels.values.assign(batch.labels.begin(), batch.labels.end());
  given[model_.targets] = std::move(labels);
  return graph::evaluate_reference(graph, std::move(given), {.seed = 1, .step = 0});
}

// running = (1 - momentum) running + momentum batch, with the unbiased variance: the references
// leave this to the kernels.
void ReferenceSide::move_statistics(const std::map<ValueId, ops::RefTensor>& values) {
  for (const graph::Node& node : model_.graph.nodes()) {
    const auto* op = dynamic_cast<const ops::BatchNorm*>(node.op.get());
    if (op == nullptr) continue;
    const ops::RefTensor& mean = values.at(node.outputs[1]);
    const ops::RefTensor& inv_std = values.at(node.outputs[2]);
    ops::RefTensor& running_mean = weights_.at(model_.graph.value(node.inputs[3]).name);
    ops::RefTensor& running_var = weights_.at(model_.graph.value(node.inputs[4]).name);
    const Shape shape = model_.graph.type(node.inputs[0]).shape;
    const int64_t values_of_channel = shape.elements() / shape[1];
    const auto count = static_cast<double>(values_of_channel);
    const auto share = static_cast<double>(op->momentum);
    for (int64_t c = 0; c < shape[1]; ++c) {
      const double biased = 1 / (inv_std[c] * inv_std[c]) - static_cast<double>(op->epsilon);
      running_mean[c] += share * (mean[c] - running_mean[c]);
      running_var[c] += share * (biased * count / std::max(count - 1, 1.0) - running_var[c]);
    }
  }
}

double ReferenceSide::gradients(const Batch& batch, Arrays& gradients) {
  const auto values = evaluate(batch, true);
  for (const graph::ParameterGradient& one : with_gradients_.gradients()) {
    gradients[with_gradients_.value(one.parameter).name] = values.at(one.gradient);
  }
  move_statistics(values);
  return values.at(model_.loss)[0];
}

double ReferenceSide::step(const Batch& batch, const Rule& rule) {
  Arrays gradients;
  const double loss = this->gradients(batch, gradients);
  for (const graph::ParameterGradient& one : with_gradients_.gradients()) {
    const graph::Value& value = with_gradients_.value(one.parameter);
    const ops::RefTensor& gradient = gradients.at(value.name);
    ops::RefTensor& weight = weights_.at(value.name);
    ops::RefTensor& kept = kept_.try_emplace(value.name, weight.shape).first->second;
    const double decay = rule.weight_decay * static_cast<double>(value.decay);
    for (int64_t i = 0; i < weight.shape.elements(); ++i) {
      kept[i] = rule.momentum * kept[i] + gradient[i] + decay * weight[i];
      weight[i] -= rule.lr * static_cast<double>(value.rate) * kept[i];
    }
  }
  return loss;
}

Arrays ReferenceSide::outputs(const Batch& batch) {
  Arrays result;
  for (auto& [id, values] : evaluate(batch, false)) {
    result[value_name(model_.graph, id)] = values;
  }
  return result;
}

}  // namespace syrtos::compare
