#pragma once

// What must hold after a scenario has run. Each function returns what does not, or nothing.

#include <algorithm>
#include <cmath>

#include "tests/strategy/disaster.h"

namespace syrtos::strategy {

inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& thrown) {
    return thrown.what();
  }
}

/// The rank that is said to be lost, or -1 for any other error.
inline world::Rank lost_by(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const world::PeerLost& lost) {
    return lost.rank();
  } catch (...) {
    return -1;
  }
}

/// How far the same training may end from training alone: sums are made in another order, bf16
/// rounds, and where a gradient is nearly the threshold it may come one step later.
inline double tolerance_of(const Scenario& scenario) {
  switch (scenario.options.wire.kind) {
    case Wire::Kind::f32:
      return scenario.optimizer.method == optim::Method::adam ? 1e-3 : 1e-4;
    case Wire::Kind::bf16:  // local: not gradients but weights are rounded, at every stop
      return scenario.is(Sync::Kind::local) ? 0.15 + 0.05 * scenario.steps : 0.15;
    case Wire::Kind::threshold:
      return 1e-3 + 2 * scenario.learning_rate * scenario.options.wire.threshold;
  }
  return 0;
}

inline std::string compare(const char* what, const std::vector<float>& found,
                           const std::vector<float>& expected, double tolerance,
                           bool common_only = false) {
  if (found.size() != expected.size())
    return fmt::format("{} {} of {}", found.size(), what, expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    if (common_only && !ToyReplica::common(i)) continue;
    if (std::fabs(double{found[i]} - expected[i]) <= tolerance) continue;  // a NaN is not
    return fmt::format("{}: element {} is {}, alone {}", what, i, found[i], expected[i]);
  }
  return {};
}

/// Where all have the same goal, however stale the gradients are, they lead there.
inline std::string check_near_goal(const Scenario& scenario, const std::vector<float>& weights) {
  const ToyReplica start(scenario.layout, scenario.optimizer, 0);
  const double part = std::max(0.35, std::pow(0.97, scenario.steps));
  const bool sparse = scenario.options.wire.sparse();
  for (const optim::Segment& tensor : scenario.layout.tensors) {
    for (size_t i = tensor.offset; i < tensor.offset + tensor.elements; ++i) {
      const double goal = ToyReplica::goal(0, i);
      const double most =
          ToyReplica::common(i) && !sparse ? part * std::fabs(start.values()[i] - goal) + 0.3 : 30;
      if (std::fabs(weights[i] - goal) <= most) continue;
      return fmt::format("element {} is {}, its goal {} and it came from {}", i, weights[i], goal,
                         start.values()[i]);
    }
  }
  return {};
}

/// Each step of backup is one update with the mean of some gradients.
inline std::string check_backup(const Scenario& scenario, const Progress& worker) {
  if (worker.step != scenario.last_step()) {
    return fmt::format("it took step {} of {}", worker.step, scenario.last_step());
  }
  if (scenario.options.wire.sparse()) {
    return check_near_goal(scenario, worker.weights);
  }
  const auto differs = [&](const std::vector<float>& expected) {
    return compare("weights", worker.weights, expected, tolerance_of(scenario), true);
  };
  std::vector<float> expected = train_alone(scenario).weights;
  const std::string wrong = differs(expected);
  if (wrong.empty() || !scenario.last_may_be_missing()) return wrong;
  // Of each server for itself.
  Scenario shorter = scenario;
  --shorter.steps;
  const std::vector<float> before = train_alone(shorter).weights;
  const int servers = scenario.team.servers > 0 ? scenario.team.servers : scenario.team.workers;
  for (const Piece& piece : place_on_servers(scenario.layout, servers)) {
    double with = 0, without = 0;
    for (size_t i = piece.first; i < piece.first + piece.count; ++i) {
      if (!ToyReplica::common(i)) continue;
      with += std::fabs(worker.weights[i] - expected[i]);
      without += std::fabs(worker.weights[i] - before[i]);
    }
    const auto at = static_cast<ptrdiff_t>(piece.first);
    if (without < with) std::copy_n(before.begin() + at, piece.count, expected.begin() + at);
  }
  return differs(expected);
}

/// The weights of a worker that came to its end.
inline std::string check_weights(const Scenario& scenario, const Progress& worker) {
  if (scenario.in_step()) {
    return compare("weights", worker.weights, expected_of(scenario).weights,
                   tolerance_of(scenario));
  }
  if (scenario.is(Sync::Kind::backup)) return check_backup(scenario, worker);
  if (scenario.steps == 1 && scenario.last_may_be_missing()) return {};
  return check_near_goal(scenario, worker.weights);
}

/// All workers that came to their end have the same weights, the right ones.
inline std::string check_workers(const Scenario& scenario, const Outcome& outcome) {
  const Progress* first = nullptr;
  for (world::Rank rank = 0; rank < scenario.team.workers; ++rank) {
    if (outcome.failed(rank)) continue;
    const Progress& worker = outcome.rank(rank);
    if (first == nullptr) {
      first = &worker;
      const std::string wrong = check_weights(scenario, worker);
      if (!wrong.empty()) return fmt::format("rank {}: {}", rank, wrong);
    }
    if (worker.weights != first->weights) {
      return fmt::format("rank {} has other weights: {}", rank,
                         compare("weights", worker.weights, first->weights, 0));
    }
    if (worker.met != first->met) return fmt::format("'{}' met, and '{}'", worker.met, first->met);
  }
  return {};
}

/// Every push is counted, and with ssp:S no gradient is older than this: while its worker, which
/// has pushed c times, computes, each of the others can come from c - S pushes to c + S + 1.
inline std::string check_staleness(const Scenario& scenario, const Outcome& outcome) {
  const int servers = scenario.team.servers > 0 ? scenario.team.servers : scenario.team.workers;
  const auto pieces = static_cast<int64_t>(place_on_servers(scenario.layout, servers).size());
  int64_t pushes = 0;
  for (const auto& [stale, count] : outcome.staleness) pushes += count;
  const int64_t all = pieces * (scenario.steps * scenario.team.workers - scenario.idle);
  const bool backup = scenario.is(Sync::Kind::backup);  // whoever is late skips steps
  if (pushes > all || (pushes < all && !backup)) {
    return fmt::format("{} pushes of {} were counted", pushes, all);
  }
  if (!scenario.is(Sync::Kind::ssp)) return {};
  const int64_t most = (scenario.team.workers - 1) * (2 * scenario.options.sync.number + 1);
  const int64_t found = outcome.staleness.rbegin()->first;
  if (found > most) return fmt::format("a gradient was {} updates old, at most {}", found, most);
  return {};
}

/// A run in which nobody was lost.
inline std::string verdict_of_calm(const Scenario& scenario, const Outcome& outcome) {
  for (const bool consequences : {false, true}) {
    for (const std::exception_ptr& error : outcome.errors) {
      if (error && (lost_by(error) >= 0) == consequences) return "failed: " + text_of(error);
    }
  }
  if (!outcome.broken.empty()) return outcome.broken;
  if (std::string wrong = check_workers(scenario, outcome); !wrong.empty()) return wrong;
  if (!scenario.in_step()) return check_staleness(scenario, outcome);
  const bool compares_kept = scenario.exact() && !scenario.is(Sync::Kind::local);
  if (!compares_kept) return {};
  const Alone alone = train_alone(scenario);
  for (size_t i = 0; i < alone.kept.size(); ++i) {
    const std::string wrong = compare("kept", outcome.kept[i], alone.kept[i], 1e-3);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

/// Who is really lost to whom.
class Losses {
 public:
  Losses(const Scenario& scenario, const Outcome& outcome)
      : scenario_(scenario), outcome_(outcome) {
    if (scenario.disaster == Scenario::Disaster::crash) {
      const std::exception_ptr& error = outcome.errors[static_cast<size_t>(scenario.crashes)];
      crashed_ = error && lost_by(error) == scenario.crashes;
    } else {
      cut_ = outcome.seconds >= outcome.disaster_at + scenario.cluster.faults.lost_after;
    }
  }

  bool any() const { return crashed_ || cut_; }
  bool crashed(world::Rank rank) const { return crashed_ && rank == scenario_.crashes; }
  bool severed(world::Rank a, world::Rank b) const { return cut_ && inside(a) != inside(b); }
  /// Those who are with rank 0 and the servers can go on.
  bool spared(world::Rank rank) const { return !crashed(rank) && !severed(rank, 0); }

  /// Survivors must come to their end.
  bool can_go_on() const {
    if (scenario_.in_step() || scenario_.team.servers == 0 || crashed(0)) return false;
    for (world::Rank rank = 0; rank < scenario_.ranks(); ++rank) {
      const bool worker = rank < scenario_.team.workers;
      if (worker ? outcome_.rank(rank).began > outcome_.disaster_at : !spared(rank)) return false;
    }
    return true;
  }

 private:
  bool inside(world::Rank rank) const {
    const auto& hosts = scenario_.cut_off;
    return std::find(hosts.begin(), hosts.end(), scenario_.host(rank)) != hosts.end();
  }

  const Scenario& scenario_;
  const Outcome& outcome_;
  bool crashed_ = false;
  bool cut_ = false;
};

/// Whoever fails says that a rank is lost which is, or failed itself.
inline std::string check_error(const Scenario& scenario, const Outcome& outcome,
                               const Losses& losses, world::Rank rank) {
  const std::exception_ptr& error = outcome.errors[static_cast<size_t>(rank)];
  if (losses.can_go_on() && losses.spared(rank)) {
    return fmt::format("rank {} could have gone on: {}", rank, text_of(error));
  }
  const world::Rank lost = lost_by(error);
  if (lost < 0 || lost >= scenario.ranks()) {
    return fmt::format("rank {} failed otherwise: {}", rank, text_of(error));
  }
  if (!outcome.failed(lost) && !losses.severed(rank, lost)) {
    return fmt::format("rank {} blames a rank that is well: {}", rank, text_of(error));
  }
  return {};
}

/// Whoever comes to its end had what it needed.
inline std::string check_end(const Scenario& scenario, const Outcome& outcome, world::Rank rank) {
  if (rank >= scenario.team.workers) {
    return outcome.rank(0).ending ? "" : fmt::format("server {} ended by itself", rank);
  }
  for (world::Rank other = 0; other < scenario.team.workers && scenario.in_step(); ++other) {
    if (outcome.rank(other).settled) continue;
    return fmt::format("rank {} ended, without the last gradients of rank {}", rank, other);
  }
  return {};
}

inline std::string verdict_of_disaster(const Scenario& scenario, const Outcome& outcome,
                                       double calm_seconds) {
  const Losses losses(scenario, outcome);
  if (!losses.any()) return verdict_of_calm(scenario, outcome);
  if (!outcome.broken.empty()) return outcome.broken;
  for (world::Rank rank = 0; rank < scenario.ranks(); ++rank) {
    if (losses.crashed(rank)) continue;
    const std::string wrong = outcome.failed(rank) ? check_error(scenario, outcome, losses, rank)
                                                   : check_end(scenario, outcome, rank);
    if (!wrong.empty()) return wrong;
  }
  if (outcome.seconds > 2 * calm_seconds + 60) {
    return fmt::format("it took {} s, and {} s without a disaster", outcome.seconds, calm_seconds);
  }
  // Of a free run that lost workers early, nothing is known but that all have the same.
  return check_workers(scenario, outcome);
}

}  // namespace syrtos::strategy
