// Which layers of a network can be computed side by side.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/graph/node_work.h"
#include "syrtos/graph/placement.h"

namespace syrtos::graph {

namespace {

constexpr int kFree = -1;
constexpr double kLeastBranch = 0.05;  // of all work
constexpr double kLeastRest = 0.1;     // that is worth a piece of its own

/// Finds joins: nodes whose inputs were computed apart from each other.
class Branches {
 public:
  explicit Branches(const Graph& graph) : graph_(graph), branch_of_(graph.nodes().size(), kFree) {
    for (const Node& node : graph.nodes()) {
      work_.push_back(work_of(graph, node));
      all_ += work_.back();
    }
  }

  /// The branch of each node; kFree: of none. Of the joins that with most work side by side first.
  const std::vector<int>& find() {
    while (const std::optional<Join> best = best_join()) assign(*best);
    return branch_of_;
  }
  int count() const { return count_; }
  double share(int branch) const {
    double work = 0;
    for (size_t n = 0; n < work_.size(); ++n) work += branch_of_[n] == branch ? work_[n] : 0;
    return work / all_;
  }
  /// Of the best join that there is, whatever it comes to.
  double best_share() const { return best_seen_ / all_; }

 private:
  /// What belongs to one input of a join alone.
  struct Arm {
    std::vector<NodeId> nodes = {};
    double work = 0;
  };
  struct Join {
    std::vector<Arm> arms = {};
    double beside = 0;  ///< work without that of the longest arm
  };

  const Node& node(NodeId n) const { return graph_.nodes()[static_cast<size_t>(n)]; }

  /// Nodes without a branch that a value is computed by.
  std::set<NodeId> behind(ValueId value) const {
    std::set<NodeId> found;
    std::vector<NodeId> open{graph_.value(value).producer};
    while (!open.empty()) {
      const NodeId n = open.back();
      open.pop_back();
      if (n == kNone || branch_of_[static_cast<size_t>(n)] != kFree) continue;
      if (!found.insert(n).second) continue;
      for (const ValueId input : node(n).inputs) {
        if (input != kNone) open.push_back(graph_.value(input).producer);
      }
    }
    return found;
  }

  Join join_at(NodeId n) const {
    std::set<ValueId> inputs;
    for (const ValueId input : node(n).inputs) {
      if (input != kNone && graph_.value(input).producer != kNone) inputs.insert(input);
    }
    Join join;
    if (inputs.size() < 2) return join;
    std::vector<std::set<NodeId>> sets;
    for (const ValueId input : node(n).inputs) {
      if (inputs.erase(input) > 0) sets.push_back(behind(input));
    }
    std::map<NodeId, int> times;
    for (const std::set<NodeId>& one : sets) {
      for (const NodeId m : one) ++times[m];
    }
    double longest = 0;
    for (const std::set<NodeId>& one : sets) {
      Arm arm;
      bool trained = false;
      for (const NodeId m : one) {
        if (times[m] > 1) continue;
        arm.nodes.push_back(m);
        arm.work += work_[static_cast<size_t>(m)];
        trained = trained || has_weights(graph_, node(m));
      }
      if (!trained) continue;  // a shortcut
      join.beside += arm.work;
      longest = std::max(longest, arm.work);
      join.arms.push_back(std::move(arm));
    }
    join.beside -= longest;
    return join;
  }

  std::optional<Join> best_join() {
    std::optional<Join> best;
    for (NodeId n = 0; n < static_cast<NodeId>(graph_.nodes().size()); ++n) {
      if (node(n).inputs.size() < 2) continue;
      Join join = join_at(n);
      const bool fits = count_ == 0 || join.arms.size() == static_cast<size_t>(count_);
      if (join.arms.size() < 2 || !fits) continue;
      if (!best || join.beside > best->beside) best = std::move(join);
    }
    if (best) best_seen_ = std::max(best_seen_, best->beside);
    // What follows must be worth as much as a branch; small ones stay with what is around them.
    if (best && best->beside < kLeastBranch * all_) best.reset();
    return best;
  }

  void assign(const Join& join) {
    count_ = static_cast<int>(join.arms.size());
    for (size_t arm = 0; arm < join.arms.size(); ++arm) {
      for (const NodeId n : join.arms[arm].nodes) {
        branch_of_[static_cast<size_t>(n)] = static_cast<int>(arm);
      }
    }
  }

  const Graph& graph_;
  std::vector<double> work_;
  double all_ = 0;
  std::vector<int> branch_of_;
  int count_ = 0;
  double best_seen_ = 0;
};

/// Which free nodes have a branch behind them.
std::vector<bool> behind_branches(const Graph& graph, const std::vector<int>& branch_of) {
  std::vector<bool> is_behind(graph.nodes().size());
  for (size_t n = 0; n < is_behind.size(); ++n) {
    for (const ValueId input : graph.nodes()[n].inputs) {
      const NodeId producer = input == kNone ? kNone : graph.value(input).producer;
      if (producer == kNone) continue;
      const auto p = static_cast<size_t>(producer);
      if (branch_of[p] != kFree || is_behind[p]) is_behind[n] = true;
    }
  }
  return is_behind;
}

}  // namespace

Placement place_branches(const Graph& graph) {
  Branches branches(graph);
  const std::vector<int>& branch_of = branches.find();
  if (branches.count() == 0) {
    fail_request(
        "--split branches: the network has none worth a part{}: use layers:N",
        branches.best_share() > 0
            ? fmt::format(": the best are {:.1f} % of the work beside the longest, and {:.0f} % is "
                          "the least",
                          100 * branches.best_share(), 100 * kLeastBranch)
            : "");
  }
  for (int branch = 0; branch < branches.count(); ++branch) {
    if (branches.share(branch) >= kLeastBranch) continue;
    fail_request(
        "--split branches: branch {} of {} has {:.1f} % of the work, and {:.0f} % is the least "
        "that is worth a part: use layers:N, or name layers that begin the parts",
        branch + 1, branches.count(), 100 * branches.share(branch), 100 * kLeastBranch);
  }
  const std::vector<bool> is_behind = behind_branches(graph, branch_of);
  double rest = 0;
  double all = 0;
  for (size_t n = 0; n < branch_of.size(); ++n) {
    const double work = work_of(graph, graph.nodes()[n]);
    all += work;
    if (branch_of[n] == kFree && is_behind[n]) rest += work;
  }
  const bool own_piece = rest >= kLeastRest * all;
  const int last = own_piece ? branches.count() : branches.count() - 1;
  Placement placement{last + 1, {}};
  int current = 0;
  std::set<std::string> seen;
  for (size_t n = 0; n < branch_of.size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (!has_weights(graph, node) || !seen.insert(node.name).second) continue;
    const int piece = branch_of[n] != kFree ? branch_of[n] : is_behind[n] ? last : 0;
    if (piece == current) continue;
    current = piece;
    placement.marks.push_back({node.name, piece});
  }
  return placement;
}

}  // namespace syrtos::graph
