#include "syrtos/graph/partition.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/part_exchange.h"

namespace syrtos::graph {

namespace {

constexpr int kAnywhere = -1;  // in each part that uses it

/// Values that cross together.
struct Crossing {
  int from = 0;
  int to = 0;
  int message = 0;  ///< of those between the two
  std::vector<ValueId> values = {};
  NodeId sent_after = kNone;       ///< node
  NodeId received_before = kNone;  ///< node
};

/// Who needs what of whom.
class Cuts {
 public:
  Cuts(const Graph& graph, std::span<const int> part_of, int parts)
      : graph_(graph), needed_(needed_nodes(graph)) {
    SYRTOS_CHECK(part_of.size() == graph.nodes().size(), "parts for {} of {} nodes", part_of.size(),
                 graph.nodes().size());
    for (size_t n = 0; n < part_of.size(); ++n) {
      SYRTOS_CHECK(part_of[n] >= 0 && part_of[n] < parts, "node {} is in part {} of {}", n,
                   part_of[n], parts);
      const Node& node = graph.nodes()[n];
      const bool anywhere = node.inputs.empty() && !node.op->has_side_effects();
      part_of_.push_back(anywhere ? kAnywhere : part_of[n]);
    }
    find_users();
    find_crossings();
  }

  bool needed(NodeId node) const { return needed_[static_cast<size_t>(node)]; }
  int part_of(NodeId node) const { return part_of_[static_cast<size_t>(node)]; }
  const std::vector<Crossing>& crossings() const { return crossings_; }

 private:
  const Node& node(NodeId id) const { return graph_.nodes()[static_cast<size_t>(id)]; }
  NodeId nodes() const { return static_cast<NodeId>(graph_.nodes().size()); }

  /// The first node of each part that uses a value of another one.
  void find_users() {
    waits_.assign(needed_.size(), false);
    for (NodeId id = 0; id < nodes(); ++id) {
      if (!needed(id) || part_of(id) == kAnywhere) continue;
      for (const ValueId input : node(id).inputs) {
        const NodeId producer = input == kNone ? kNone : graph_.value(input).producer;
        if (producer == kNone || part_of(producer) == kAnywhere) continue;
        if (part_of(producer) == part_of(id)) continue;
        if (first_user_.emplace(std::pair{input, part_of(id)}, id).second) {
          waits_[static_cast<size_t>(id)] = true;
        }
      }
    }
  }

  void find_crossings() {
    // A stretch of a part ends before a node that waits and where the phase changes.
    std::map<int, std::pair<int, Phase>> stretches;    // of each part, where the walk is
    std::map<std::tuple<int, int, int>, size_t> open;  // (from, to, stretch) -> crossing
    std::map<std::pair<int, int>, int> messages;
    for (NodeId id = 0; id < nodes(); ++id) {
      if (!needed(id) || part_of(id) == kAnywhere) continue;
      const int from = part_of(id);
      auto& [stretch, phase] = stretches.try_emplace(from, 0, node(id).phase).first->second;
      if (waits_[static_cast<size_t>(id)] || phase != node(id).phase) ++stretch;
      phase = node(id).phase;
      for (const ValueId output : node(id).outputs) {
        for (auto user = first_user_.lower_bound({output, 0});
             user != first_user_.end() && user->first.first == output; ++user) {
          const int to = user->first.second;
          const auto [found, is_new] = open.try_emplace({from, to, stretch}, crossings_.size());
          if (is_new) crossings_.push_back({from, to, messages[{from, to}]++});
          Crossing& crossing = crossings_[found->second];
          crossing.values.push_back(output);
          crossing.sent_after = id;
          crossing.received_before = crossing.received_before == kNone
                                         ? user->second
                                         : std::min(crossing.received_before, user->second);
        }
      }
    }
  }

  const Graph& graph_;
  const std::vector<bool> needed_;
  std::vector<int> part_of_;
  std::map<std::pair<ValueId, int>, NodeId> first_user_;  // (value, part) -> node
  std::vector<bool> waits_;                               // by node
  std::vector<Crossing> crossings_;
};

/// One part's graph, node by node.
class PartMaker {
 public:
  PartMaker(const Graph& whole, const Cuts& cuts, int part)
      : whole_(whole), cuts_(cuts), part_(part), known_(whole.values().size(), kNone) {}

  Graph make() {
    for (NodeId id = 0; id < static_cast<NodeId>(whole_.nodes().size()); ++id) {
      if (!cuts_.needed(id) || cuts_.part_of(id) != part_) continue;
      for (const Crossing& crossing : cuts_.crossings()) {
        if (crossing.to == part_ && crossing.received_before == id) receive(crossing, id);
      }
      add(id);
      for (const Crossing& crossing : cuts_.crossings()) {
        if (crossing.from == part_ && crossing.sent_after == id) send(crossing, id);
      }
    }
    for (const ParameterGradient& pair : whole_.gradients()) {
      if (known(pair.parameter) == kNone) continue;
      SYRTOS_CHECK(is_made_here(pair.gradient, true), "the gradient of {} is not where it is used",
                   whole_.value(pair.parameter).name);
      part_graph_.gradients().push_back({known(pair.parameter), here(pair.gradient)});
    }
    part_graph_.order_gradients();
    for (const auto& [name, value] : whole_.outputs()) {
      if (is_made_here(value, part_ == 0)) part_graph_.set_output(name, here(value));
    }
    return std::move(part_graph_);
  }

 private:
  /// `if_anywhere`: of what can be made in any part, or is given.
  bool is_made_here(ValueId value, bool if_anywhere) const {
    const NodeId producer = whole_.value(value).producer;
    if (producer == kNone || cuts_.part_of(producer) == kAnywhere) return if_anywhere;
    return cuts_.part_of(producer) == part_;
  }

  ValueId& known(ValueId value) { return known_[static_cast<size_t>(value)]; }

  void enter(NodeId like) {
    const Node& node = whole_.nodes()[static_cast<size_t>(like)];
    part_graph_.set_scope(node.name);
    part_graph_.set_phase(node.phase);
  }

  ValueId here(ValueId id) {
    if (id == kNone) return kNone;
    if (known(id) != kNone) return known(id);
    const Value& value = whole_.value(id);
    switch (value.kind) {
      case ValueKind::input:
        known(id) = part_graph_.add_input(value.name, value.type);
        break;
      case ValueKind::parameter:
        known(id) =
            part_graph_.add_parameter(value.name, value.whole_type(), value.decay, value.rate);
        if (value.is_part()) {
          part_graph_.take_rows(known(id), value.first_row, value.type.shape[0]);
        }
        break;
      case ValueKind::state:
        known(id) = part_graph_.add_state(value.name, value.type);
        break;
      case ValueKind::computed:
        SYRTOS_CHECK(cuts_.part_of(value.producer) == kAnywhere, "value {} of part {} is not here",
                     id, cuts_.part_of(value.producer));
        add(value.producer);
        break;
    }
    return known(id);
  }

  void add(NodeId id) {
    const Node& node = whole_.nodes()[static_cast<size_t>(id)];
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(here(input));
    enter(id);
    const std::vector<ValueId> outputs = part_graph_.add(node.op, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) known(node.outputs[i]) = outputs[i];
  }

  template <typename Exchange>
  std::shared_ptr<Exchange> exchange(const Crossing& crossing, int peer) const {
    auto op = std::make_shared<Exchange>();
    op->peer = peer;
    op->message = crossing.message;
    op->lane = static_cast<int>(&crossing - cuts_.crossings().data());
    for (const ValueId value : crossing.values) op->types.push_back(whole_.type(value));
    return op;
  }

  void send(const Crossing& crossing, NodeId after) {
    std::vector<ValueId> inputs;
    for (const ValueId value : crossing.values) inputs.push_back(known(value));
    enter(after);
    part_graph_.add(exchange<ops::Send>(crossing, crossing.to), inputs);
  }

  void receive(const Crossing& crossing, NodeId before) {
    enter(before);
    // Of the phase that sends it: what is forward there may be used first by a gradient here.
    part_graph_.set_phase(whole_.nodes()[static_cast<size_t>(crossing.sent_after)].phase);
    const auto outputs = part_graph_.add(exchange<ops::Receive>(crossing, crossing.from), {});
    for (size_t i = 0; i < outputs.size(); ++i) known(crossing.values[i]) = outputs[i];
  }

  const Graph& whole_;
  const Cuts& cuts_;
  const int part_;
  Graph part_graph_;
  std::vector<ValueId> known_;  // by value of the whole
};

/// Nothing that outlives a step can be in two places.
void check_shared(const Graph& graph, const Cuts& cuts) {
  std::map<ValueId, NodeId> first_user;
  for (NodeId id = 0; id < static_cast<NodeId>(graph.nodes().size()); ++id) {
    if (!cuts.needed(id) || cuts.part_of(id) == kAnywhere) continue;
    const Node& node = graph.nodes()[static_cast<size_t>(id)];
    for (const ValueId input : node.inputs) {
      if (input == kNone) continue;
      const Value& value = graph.value(input);
      if (value.kind != ValueKind::parameter && value.kind != ValueKind::state) continue;
      const NodeId first = first_user.emplace(input, id).first->second;
      if (cuts.part_of(first) == cuts.part_of(id)) continue;
      fail_request(
          "--split: {} is used by layers {} and {}, which are in parts {} and {}: a weight is in "
          "one part; cut before the first or behind the last of them",
          value.name, graph.nodes()[static_cast<size_t>(first)].name, node.name,
          cuts.part_of(first) + 1, cuts.part_of(id) + 1);
    }
  }
}

}  // namespace

std::vector<Graph> partition(const Graph& graph, std::span<const int> part_of, int parts) {
  const Cuts cuts(graph, part_of, parts);
  check_shared(graph, cuts);
  std::vector<Graph> made;
  for (int part = 0; part < parts; ++part) made.push_back(PartMaker(graph, cuts, part).make());
  return made;
}

std::vector<int> with_gradients(std::span<const int> part_of, std::span<const NodeId> origins) {
  std::vector<int> all;
  for (const NodeId origin : origins) all.push_back(part_of[static_cast<size_t>(origin)]);
  return all;
}

}  // namespace syrtos::graph
