// From a placement, which names layers, to the nodes of a graph.
#include <algorithm>
#include <map>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/graph/node_work.h"
#include "syrtos/graph/placement.h"

namespace syrtos::graph {

namespace {

/// Moves nodes without weights to where fewest bytes cross, one after the other until none moves.
class Mover {
 public:
  Mover(const Graph& graph, std::vector<int>& piece_of) : graph_(graph), piece_of_(piece_of) {
    users_.resize(graph.nodes().size());
    for (NodeId n = 0; n < static_cast<NodeId>(graph.nodes().size()); ++n) {
      for (const ValueId input : node(n).inputs) {
        const NodeId producer = input == kNone ? kNone : graph.value(input).producer;
        if (producer != kNone) users_[static_cast<size_t>(producer)].push_back(n);
      }
    }
  }

  void run() {
    constexpr int kMostRounds = 16;
    bool moved = true;
    for (int round = 0; round < kMostRounds && moved; ++round) {
      moved = false;
      for (NodeId n = 0; n < static_cast<NodeId>(graph_.nodes().size()); ++n) {
        if (!has_weights(graph_, node(n))) moved = move(n) || moved;
      }
    }
  }

 private:
  const Node& node(NodeId n) const { return graph_.nodes()[static_cast<size_t>(n)]; }
  int& piece(NodeId n) { return piece_of_[static_cast<size_t>(n)]; }

  bool move(NodeId n) {
    std::set<int> before;
    std::set<int> after;
    for (const ValueId input : node(n).inputs) {
      const NodeId producer = input == kNone ? kNone : graph_.value(input).producer;
      if (producer != kNone) before.insert(piece(producer));
    }
    for (const NodeId user : users_[static_cast<size_t>(n)]) after.insert(piece(user));
    if (before.empty() && after.empty()) return false;
    // Where pieces follow each other they still do afterwards.
    const int least = before.empty() ? 0 : *before.rbegin();
    const int most = after.empty() ? least : *after.begin();
    const int now = piece(n);
    int best = now;
    double fewest = crossing(n, now, after);
    std::set<int> candidates = before;
    candidates.insert(after.begin(), after.end());
    for (const int candidate : candidates) {
      if (least <= most && (candidate < least || candidate > most)) continue;
      const double bytes = crossing(n, candidate, after);
      if (bytes >= fewest) continue;
      best = candidate;
      fewest = bytes;
    }
    piece(n) = best;
    return best != now;
  }

  /// Bytes that cross to and from the node if it is there.
  double crossing(NodeId n, int where, const std::set<int>& users) {
    double bytes = 0;
    for (const ValueId input : node(n).inputs) {
      const NodeId producer = input == kNone ? kNone : graph_.value(input).producer;
      if (producer != kNone && piece(producer) != where) bytes += bytes_of(graph_, input);
    }
    const auto others = static_cast<double>(users.size() - users.count(where));
    for (const ValueId output : node(n).outputs) bytes += others * bytes_of(graph_, output);
    return bytes;
  }

  const Graph& graph_;
  std::vector<int>& piece_of_;
  std::vector<std::vector<NodeId>> users_;  // by node
};

}  // namespace

std::vector<int> pieces_of(const Graph& graph, const Placement& placement) {
  std::map<std::string_view, int> marks;
  for (const PieceMark& mark : placement.marks) marks.emplace(mark.layer, mark.piece);
  std::vector<int> piece_of;
  int current = 0;
  size_t used = 0;
  std::set<std::string_view> seen;
  for (const Node& node : graph.nodes()) {
    const auto mark = marks.find(node.name);
    if (mark != marks.end() && has_weights(graph, node) && seen.insert(mark->first).second) {
      current = mark->second;
      ++used;
    }
    piece_of.push_back(current);
  }
  SYRTOS_CHECK(used == marks.size(), "{} of {} layers", used, marks.size());
  Mover(graph, piece_of).run();
  return piece_of;
}

std::vector<std::vector<int>> needs_of_pieces(const Graph& graph, std::span<const int> piece_of,
                                              int pieces) {
  std::vector<std::set<int>> needs(static_cast<size_t>(pieces));
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (const ValueId input : graph.nodes()[n].inputs) {
      const NodeId producer = input == kNone ? kNone : graph.value(input).producer;
      if (producer == kNone) continue;
      const int from = piece_of[static_cast<size_t>(producer)];
      if (from != piece_of[n]) needs[static_cast<size_t>(piece_of[n])].insert(from);
    }
  }
  std::vector<std::vector<int>> lists;
  for (const std::set<int>& one : needs) lists.emplace_back(one.begin(), one.end());
  return lists;
}

}  // namespace syrtos::graph
