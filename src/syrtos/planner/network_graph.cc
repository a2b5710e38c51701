#include "syrtos/planner/network_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/graph/node_work.h"
#include "syrtos/graph/partition.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/part_exchange.h"

namespace syrtos::planner {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::ValueId;

namespace {

constexpr double kForwardShare = 1.0 / 3;  // of a pass that was not measured layer by layer

const ops::PartExchange* exchange_of(const Node& node) {
  return dynamic_cast<const ops::PartExchange*>(node.op.get());
}

double bytes_of(const ops::PartExchange& exchange) {
  double bytes = 0;
  for (const TensorType& type : exchange.types) bytes += static_cast<double>(type.bytes());
  return bytes;
}

/// Of a graph without gradients: the unit of each node.
std::vector<size_t> unit_of_nodes(const std::vector<graph::Unit>& units) {
  std::vector<size_t> unit_of;
  for (size_t u = 0; u < units.size(); ++u) {
    unit_of.resize(static_cast<size_t>(units[u].last), u);
  }
  return unit_of;
}

/// Bytes that each forward node makes and gradients read, as it is compiled.
std::map<NodeId, double> kept_by_nodes(const Graph& whole, size_t forward_nodes) {
  Graph optimised = whole;
  graph::optimise(optimised);
  std::set<ValueId> kept;
  for (const Node& node : optimised.nodes()) {
    if (node.phase != Phase::backward) continue;
    for (const ValueId input : node.inputs) {
      if (input == kNone || static_cast<size_t>(input) >= whole.values().size()) continue;
      const NodeId producer = whole.value(input).producer;
      if (producer != kNone && static_cast<size_t>(producer) < forward_nodes) kept.insert(input);
    }
  }
  std::map<NodeId, double> bytes;
  for (const ValueId value : kept) {
    bytes[whole.value(value).producer] += graph::bytes_of(whole, value);
  }
  return bytes;
}

}  // namespace

bool NetworkPieces::goes_one_way() const {
  for (size_t piece = 0; piece < needs.size(); ++piece) {
    for (const int from : needs[piece]) {
      if (from >= static_cast<int>(piece)) return false;
    }
  }
  return true;
}

NetworkGraph::NetworkGraph(Graph forward, ValueId loss, int64_t samples)
    : forward_(std::move(forward)), samples_(samples), whole_(forward_) {
  origins_ = graph::add_gradients(whole_, loss);
  units_ = graph::units_of(forward_);
  for (const Node& node : forward_.nodes()) {
    if (layer_of_.emplace(node.name, layers_.size()).second) layers_.push_back(node.name);
  }
  for (const graph::ParameterGradient& pair : whole_.gradients()) {
    const graph::Value& value = whole_.value(pair.parameter);
    tensor_of_.emplace(value.name, tensors_.size());
    tensors_.push_back(value.name);
    elements_.push_back(static_cast<size_t>(value.type.shape.elements()));
  }
  for (const auto& [node, bytes] : kept_by_nodes(whole_, forward_.nodes().size())) {
    kept_of_[node] = bytes / static_cast<double>(samples_);
    kept_ += kept_of_[node];
  }
  note_work();
  note_units();
  note_crossing();
}

void NetworkGraph::note_work() {
  work_.resize(layers_.size());
  for (const Node& node : whole_.nodes()) {
    auto& [forward, backward] = work_[layer_of_.at(node.name)];
    (node.phase == Phase::forward ? forward : backward) += graph::work_of(whole_, node);
  }
}

/// Of a layer's time in its phase.
double NetworkGraph::share_of(const Graph& graph, const Node& node, size_t layer) const {
  const double all = node.phase == Phase::forward ? work_[layer].first : work_[layer].second;
  return all > 0 ? graph::work_of(graph, node) / all : 0;
}

void NetworkGraph::note_units() {
  const std::vector<size_t> unit_of = unit_of_nodes(units_);
  unit_shares_.resize(units_.size());
  std::set<ValueId> seen;
  for (size_t n = 0; n < whole_.nodes().size(); ++n) {
    const Node& node = whole_.nodes()[n];
    const size_t unit = unit_of[static_cast<size_t>(origins_[n])];
    UnitShares& own = unit_shares_[unit];
    const size_t layer = layer_of_.at(node.name);
    const double share = share_of(whole_, node, layer);
    if (share > 0) (node.phase == Phase::forward ? own.forward : own.backward)[layer] += share;
    if (n >= forward_.nodes().size()) continue;
    const auto kept = kept_of_.find(static_cast<NodeId>(n));
    if (kept != kept_of_.end()) own.kept += kept->second;
    for (const ValueId input : node.inputs) {
      if (input == kNone) continue;
      const auto tensor = tensor_of_.find(forward_.value(input).name);
      if (forward_.value(input).kind == graph::ValueKind::parameter && tensor != tensor_of_.end() &&
          seen.insert(input).second) {
        own.elements += static_cast<double>(elements_[tensor->second]);
      }
    }
  }
}

void NetworkGraph::note_crossing() {
  struct Crossing {
    double bytes = 0;
    size_t made = 0;
    std::set<size_t> users = {};
  };
  const std::vector<size_t> unit_of = unit_of_nodes(units_);
  std::map<ValueId, Crossing> values;
  for (size_t n = 0; n < forward_.nodes().size(); ++n) {
    for (const ValueId input : forward_.nodes()[n].inputs) {
      const NodeId producer = input == kNone ? kNone : forward_.value(input).producer;
      if (producer == kNone) continue;
      const size_t made = unit_of[static_cast<size_t>(producer)];
      if (made == unit_of[n]) continue;
      const double bytes = graph::bytes_of(forward_, input) / static_cast<double>(samples_);
      values.try_emplace(input, bytes, made).first->second.users.insert(unit_of[n]);
    }
  }
  for (const auto& [value, crossing] : values) {
    for (const size_t user : crossing.users) {
      edges_.push_back({crossing.made, user, crossing.bytes});
    }
  }
  std::sort(edges_.begin(), edges_.end(), [](const UnitEdge& a, const UnitEdge& b) {
    return std::pair(a.to, a.from) < std::pair(b.to, b.from);
  });
  const size_t units = units_.size();
  into_.assign(units + 1, std::vector<double>(units + 1));
  out_of_ = into_;
  for (size_t first = 0; first < units; ++first) {
    std::vector<double>& into = into_[first];
    for (const auto& [value, crossing] : values) {
      const auto user = crossing.users.lower_bound(first);
      if (crossing.made < first && user != crossing.users.end()) into[*user + 1] += crossing.bytes;
    }
    for (size_t end = first + 1; end <= units; ++end) into[end] += into[end - 1];
  }
  for (const auto& [value, crossing] : values) {
    for (size_t end = crossing.made + 1; end <= *crossing.users.rbegin(); ++end) {
      out_of_[crossing.made][end] += crossing.bytes;
    }
  }
  for (size_t first = units; first-- > 0;) {
    for (size_t end = first + 2; end <= units; ++end)
      out_of_[first][end] += out_of_[first + 1][end];
  }
}

std::vector<std::pair<double, double>> NetworkGraph::seconds_of(
    const strategy::ComputeTimes& times, const strategy::ComputeTimes::Pass& pass) const {
  std::vector<std::pair<double, double>> seconds(layers_.size());
  double sum = 0;
  for (size_t i = 0; i < times.layers.size() && i < pass.forward.size(); ++i) {
    const auto found = layer_of_.find(times.layers[i]);
    if (found == layer_of_.end()) continue;
    seconds[found->second] = {pass.forward[i], pass.backward[i]};
    sum += pass.forward[i] + pass.backward[i];
  }
  if (sum > 0) {  // between measured batches lines need not meet
    for (auto& [forward, backward] : seconds) {
      forward *= pass.seconds / sum;
      backward *= pass.seconds / sum;
    }
    return seconds;
  }
  double forward_work = 0;
  double backward_work = 0;
  for (const auto& [forward, backward] : work_) {
    forward_work += forward;
    backward_work += backward;
  }
  for (size_t layer = 0; layer < seconds.size(); ++layer) {
    seconds[layer] = {
        kForwardShare * pass.seconds * work_[layer].first / forward_work,
        (1 - kForwardShare) * pass.seconds * work_[layer].second / std::max(1.0, backward_work)};
  }
  return seconds;
}

const graph::Placement& NetworkGraph::consecutive(int pieces) const {
  const auto known = consecutive_.find(pieces);
  if (known != consecutive_.end()) return known->second;
  return consecutive_[pieces] = place_consecutively(forward_, pieces);
}

std::shared_ptr<const NetworkPieces> NetworkGraph::cut(const strategy::Split& split,
                                                       int pieces) const {
  const std::string key = fmt::format("{} {}", to_string(split), pieces);
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  using Kind = strategy::Split::Kind;
  graph::Placement placement = split.kind == Kind::layers ? consecutive(pieces)
                               : split.kind == Kind::branches
                                   ? graph::place_branches(forward_)
                                   : place_by_names(forward_, split.names);
  std::shared_ptr<const NetworkPieces> made;
  for (const auto& [other, cut] : known_) {
    if (cut->placement == placement) made = cut;
  }
  if (made == nullptr) made = make(std::move(placement));
  return known_[key] = made;
}

std::shared_ptr<const NetworkPieces> NetworkGraph::make(graph::Placement placement) const {
  NetworkPieces made;
  made.placement = std::move(placement);
  const int pieces = made.placement.pieces;
  const std::vector<int> piece_of = pieces_of(forward_, made.placement);
  made.needs = needs_of_pieces(forward_, piece_of, pieces);
  made.text = layers_text(forward_, made.placement);
  const std::vector<int> all = graph::with_gradients(piece_of, origins_);
  for (const Graph& part : graph::partition(whole_, all, pieces)) {
    made.pieces.push_back(this->piece_of(part));
  }
  for (const auto& [node, bytes] : kept_of_) {
    made.pieces[static_cast<size_t>(piece_of[static_cast<size_t>(node)])].kept += bytes;
  }
  for (Piece& piece : made.pieces) {
    for (const PieceStep& step : piece.steps) {
      for (const PieceStep::Message& message : step.arrives) {
        if (!step.backward) piece.kept += message.bytes;
      }
    }
  }
  return std::make_shared<const NetworkPieces>(std::move(made));
}

/// As graph::parts_of_pass() cuts a program.
Piece NetworkGraph::piece_of(const Graph& part) const {
  Piece piece;
  std::map<NodeId, std::vector<size_t>> finishes;
  for (const graph::ParameterGradient& pair : part.gradients()) {
    const size_t tensor = tensor_of_.at(part.value(pair.parameter).name);
    piece.tensors.push_back(tensor);
    finishes[part.value(pair.gradient).producer].push_back(tensor);
  }
  bool open = false;  // the last step goes on
  const auto step = [&](bool backward, bool anew) -> PieceStep& {
    if (!open || anew || piece.steps.back().backward != backward) {
      piece.steps.emplace_back().backward = backward;
    }
    open = true;
    return piece.steps.back();
  };
  const auto samples = static_cast<double>(samples_);
  std::set<size_t> needed;
  std::vector<PieceStep::Message> arrives;  // for the next node
  for (NodeId n = 0; n < static_cast<NodeId>(part.nodes().size()); ++n) {
    const Node& node = part.nodes()[static_cast<size_t>(n)];
    if (const ops::PartExchange* exchange = exchange_of(node)) {
      const double bytes = bytes_of(*exchange) / samples;
      PieceStep::Message message{exchange->peer, exchange->lane, bytes,
                                 node.phase == Phase::forward};
      if (node.op->name() == "receive") {
        arrives.push_back(message);
      } else {
        message.waits = false;
        step(node.phase == Phase::backward, false).leaves.push_back(message);
        // What leaves at the same place does so together.
        const auto next = static_cast<size_t>(n) + 1;
        open = next < part.nodes().size() && part.nodes()[next].op->name() == "send" &&
               part.nodes()[next].phase == node.phase;
      }
      continue;
    }
    const bool backward = node.phase == Phase::backward;
    std::vector<size_t> needs;
    for (const ValueId input : node.inputs) {
      if (input == kNone || part.value(input).kind != graph::ValueKind::parameter) continue;
      const auto tensor = tensor_of_.find(part.value(input).name);
      if (tensor != tensor_of_.end() && needed.insert(tensor->second).second) {
        needs.push_back(tensor->second);
      }
    }
    PieceStep& now = step(backward, !needs.empty() || !arrives.empty());
    now.needs.insert(now.needs.end(), needs.begin(), needs.end());
    for (PieceStep::Message& message : arrives) {
      message.waits = message.waits && backward;
      now.arrives.push_back(message);
    }
    arrives.clear();
    const size_t layer = layer_of_.at(node.name);
    if (const double share = share_of(part, node, layer); share > 0) now.shares[layer] += share;
    if (const auto final = finishes.find(n); final != finishes.end()) {
      now.finishes = final->second;
      open = false;
      // What leaves right behind it is the same step's.
      const auto next = static_cast<size_t>(n) + 1;
      if (next < part.nodes().size() && part.nodes()[next].op->name() == "send") open = true;
    }
  }
  // What nobody reads comes all the same.
  if (!arrives.empty()) step(true, false).arrives = std::move(arrives);
  return piece;
}

std::vector<size_t> NetworkGraph::begins_of(const strategy::Split& split, int pieces) const {
  std::vector<size_t> begins;
  for (const graph::PieceMark& mark : cut(split, pieces)->placement.marks) {
    const auto unit = std::find_if(units_.begin(), units_.end(),
                                   [&](const graph::Unit& u) { return u.layer == mark.layer; });
    begins.push_back(static_cast<size_t>(unit - units_.begin()));
  }
  return begins;
}

strategy::Split NetworkGraph::split_at(const std::vector<size_t>& begins, int parts) const {
  strategy::Split split{strategy::Split::Kind::names, parts, {}};
  for (const size_t unit : begins) split.names.push_back(units_[unit].layer);
  const graph::Placement own = place_by_names(forward_, split.names);
  if (own == consecutive(own.pieces)) return {strategy::Split::Kind::layers, parts, {}};
  return split;
}

}  // namespace syrtos::planner
