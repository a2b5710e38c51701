#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/planner/candidates.h"

namespace syrtos::planner {

/// What is best: the shortest epoch that gives the result of training alone, the shortest epoch
/// whatever it gives, the fewest host-seconds of an epoch, or the shortest epoch that still uses
/// its hosts well.
enum class Goal { result, time, cost, efficiency };
Goal parse_goal(std::string_view text);
const char* to_string(Goal goal);

/// A candidate with what is expected of it. Seconds.
struct Prediction {
  Candidate candidate = {};
  StepCost step = {};
  double epoch_s = 0;
  double low_s = 0;  ///< of an epoch, as far as the profiles are uncertain
  double high_s = 0;
  double speed_up = 0;       ///< against training alone on the first host
  double memory = 0;         ///< bytes of the largest rank, at least
  bool keeps_result = true;  ///< of training alone, but for what was asked for
  std::string reason = {};

  int hosts = 1;  ///< that it keeps busy: the first ones
  /// Speed-ups at the ends of the error bar.
  double slowest_speed_up() const { return speed_up * epoch_s / high_s; }
  double fastest_speed_up() const { return speed_up * epoch_s / low_s; }
  double efficiency() const { return speed_up / hosts; }
  double cost() const { return epoch_s * hosts; }
};

/// Speed-up over the number of workers for one way.
struct Curve {
  std::string name;
  std::vector<Prediction> points;
};

/// What would be gained if something were different.
struct WhatIf {
  std::string what;
  Prediction best;
  double gain = 1;  ///< by what factor an epoch is shorter
};

/// Ways that are told apart where only the best of each kind is shown.
struct WayKind {
  bool distributed = false;
  strategy::Sync::Kind sync = strategy::Sync::Kind::join;
  int division = 0;  ///< of the network: 0 none, 1 columns, 2 parts

  auto operator<=>(const WayKind&) const = default;  // NOLINT(modernize-use-nullptr): clang's 0
};
WayKind kind_of(const Candidate& candidate);

struct Plan {
  Goal goal = Goal::result;
  Prediction alone;
  bool alone_fits = true;           ///< in the first host's memory
  std::vector<Prediction> ranked;   ///< best first; training alone is among them
  std::vector<Prediction> fastest;  ///< for each number of workers
  std::vector<Curve> curves;        ///< of the best way of each kind
  int gain_ends_at = 1;             ///< workers beyond which an epoch gets less than 5 % shorter
  int most_workers = 1;             ///< of all ways that were considered
  std::vector<WhatIf> what_ifs;     ///< largest gain first
  int considered = 0;
  int simulated = 0;
  int too_large = 0;               ///< that would have taken too long to simulate
  int out_of_memory = 0;           ///< that do not fit on their hosts
  std::vector<std::string> notes;  ///< that should be known before it is followed
  size_t chosen = 0;               ///< of those ranked

  /// What is recommended: distributed only if that is faster for certain.
  const Prediction& best() const { return ranked[chosen]; }
  /// The best way of each --sync, whole, in columns and in parts, and training alone, best first.
  std::vector<const Prediction*> best_of_each_kind() const;
  /// Of each kind the best, where it is faster than best() but changes the result.
  std::vector<const Prediction*> faster_with_another_result() const;
  /// The best with several workers that the goal allows; nullptr: none was simulated.
  const Prediction* best_distributed() const;
  /// It is faster than alone, also at the slow end of its error bar.
  bool is_worth_it(const Prediction& prediction) const;
  /// Chooses, once they are ranked and have error bars.
  void choose();
};

struct PlanOptions {
  SearchSpace space = {};
  Goal goal = Goal::result;
  bool what_if = false;
  /// So many of the best, and the best of each kind, get an error bar and a reason; 0: none.
  int detailed = 3;
  /// To simulate with at most (effort_of()), half of it to search with; beyond, candidates are left
  /// out, and error bars are reckoned from the profiles alone.
  double effort = 20e6;
  std::function<void(double share, const std::string& what)> progress = {};
  std::function<bool()> should_stop = {};
};

/// Throws RequestError when nothing fits. Stopped early, it has what there is.
Plan make_plan(const Workload& workload, const ClusterProfile& cluster, const PlanOptions& options);

/// Share of a host that its computing must have for Goal::efficiency.
constexpr double kEfficient = 0.7;

}  // namespace syrtos::planner
