#include "syrtos/train/measure/board.h"

#include <algorithm>
#include <set>
#include <utility>

#include "syrtos/base/clock.h"

namespace syrtos::train {

namespace {

constexpr const char* kWhat = "what TensorBoard shows";

// "layer1.0.conv1" -> "layer1/0/conv1"
std::string path_of(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return name;
}

const char* operation_of(graph::ValueKind kind) {
  switch (kind) {
    case graph::ValueKind::input:
      return "input";
    case graph::ValueKind::parameter:
      return "parameter";
    case graph::ValueKind::state:
      return "state";
    case graph::ValueKind::computed:
      return "computed";
  }
  return "?";
}

std::vector<int64_t> extents(const Shape& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

std::vector<trace::GraphNode> board_nodes(const graph::Graph& graph) {
  std::vector<trace::GraphNode> nodes;
  std::vector<std::string> names(graph.values().size());  // of what makes each value
  std::set<std::string> used;
  const auto unique = [&](const std::string& wanted) {
    std::string name = wanted;
    for (int n = 1; !used.insert(name).second; ++n) name = wanted + "_" + std::to_string(n);
    return name;
  };
  for (size_t id = 0; id < graph.values().size(); ++id) {
    const graph::Value& value = graph.values()[id];
    if (value.kind == graph::ValueKind::computed) continue;
    names[id] = unique(path_of(value.name));
    nodes.push_back({.name = names[id],
                     .op = operation_of(value.kind),
                     .output_shape = extents(value.type.shape),
                     .dtype = to_string(value.type.dtype)});
  }
  for (const graph::Node& node : graph.nodes()) {
    const std::string operation(node.op->name());
    trace::GraphNode shown{.name = unique(path_of(node.name) + "/" + operation), .op = operation};
    for (const graph::ValueId input : node.inputs) {
      if (input != graph::kNone) shown.inputs.push_back(names[static_cast<size_t>(input)]);
    }
    for (size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == graph::kNone) continue;
      names[static_cast<size_t>(node.outputs[k])] =
          k == 0 ? shown.name : shown.name + ":" + std::to_string(k);
    }
    const TensorType& type = graph.value(node.outputs.front()).type;
    shown.output_shape = extents(type.shape);
    shown.dtype = to_string(type.dtype);
    nodes.push_back(std::move(shown));
  }
  return nodes;
}

Board::Board(Notebook& notebook, const std::filesystem::path& run, const graph::Graph& graph,
             int64_t first_step)
    : notebook_(notebook), events_(std::make_shared<std::optional<trace::EventFile>>()) {
  notebook_.write(kWhat, [events = events_, run, nodes = board_nodes(graph), first_step] {
    events->emplace(run);
    (*events)->graph(nodes);
    (*events)->restarted_at(first_step + 1);
  });
}

void Board::add(int64_t step, std::vector<trace::Scalar> scalars) {
  notebook_.write(kWhat,
                  [events = events_, step, scalars = std::move(scalars), time = wall_clock()] {
                    if (*events) (*events)->scalars(step, scalars, time);
                  });
}

void Board::step(int64_t step, double loss, double learning_rate) {
  add(step, {{"step/loss", loss}, {"step/learning rate", learning_rate}});
}

void Board::epoch(const run::EpochMetrics& m) {
  std::vector<trace::Scalar> scalars = {{"loss/train", m.train_loss},
                                        {"speed/samples per second", m.images_per_s}};
  const auto add_parts = [&](const std::string& group, const trace::StepDivision& seconds) {
    for (size_t i = 0; i < trace::kParts; ++i) {
      scalars.push_back({group + "/" + std::string(trace::kPartNames[i]), seconds.seconds[i]});
    }
  };
  add_parts("seconds", m.seconds);
  for (const run::WorkerEpoch& worker : m.workers) {
    add_parts("rank " + std::to_string(worker.rank), worker.seconds);
  }
  // "accuracy/train", "MAE/test"; the five most probable classes are a kind of accuracy.
  const auto add_scores = [&](const run::Scores& scores, const std::string& set) {
    for (const run::Score& score : scores) {
      const std::string title(score.metric->title);
      scalars.push_back(
          {score.metric->name == "top5" ? "accuracy/" + set + " top 5" : title + "/" + set,
           score.value});
    }
  };
  add_scores(m.train, "train");
  if (m.evaluated) {
    scalars.push_back({"loss/" + m.set, m.test_loss});
    add_scores(m.test, m.set);
  }
  add(m.step, std::move(scalars));
}

}  // namespace syrtos::train
