#pragma once

// Runs a scenario on a simulated cluster, as a training program would, and keeps what happened.

#include <limits>
#include <map>

#include "syrtos/strategy/meeting.h"
#include "syrtos/world/sim/sim.h"
#include "tests/strategy/alone.h"

namespace syrtos::strategy {

/// How far a rank came.
struct Progress {
  double began = std::numeric_limits<double>::infinity();  ///< when it had the first weights
  int started = 0;                                         ///< steps
  bool settled = false;  ///< brings its last gradients to the first meeting
  bool ending = false;   ///< needs nobody any more, if it is not rank 0
  bool over = false;     ///< one way or the other
  int64_t step = 0;
  std::vector<float> weights;  ///< in the end
  std::string met;             ///< what the last meeting decided
};

struct Outcome {
  std::vector<std::exception_ptr> errors;
  std::vector<Progress> ranks;
  std::vector<std::vector<float>> kept;  ///< at rank 0
  std::map<int64_t, int64_t> staleness;
  std::string broken;  ///< a rule, while it ran
  double disaster_at = 0;
  double seconds = 0;
  uint64_t trace = 0;

  const Progress& rank(world::Rank rank) const { return ranks[static_cast<size_t>(rank)]; }
  Progress& rank(world::Rank rank) { return ranks[static_cast<size_t>(rank)]; }
  bool failed(world::Rank rank) const { return errors[static_cast<size_t>(rank)] != nullptr; }
};

/// Whatever ends the rank's program.
struct Leaving {
  Progress& progress;
  ~Leaving() { progress.over = true; }
};

/// ssp:S: a worker in its step s, from 0, has the reply to s pushes. Then all have begun s - S.
inline void check_distance(const Scenario& scenario, world::Rank mine, Outcome& outcome) {
  for (world::Rank other = 0; other < scenario.team.workers; ++other) {
    const Progress& progress = outcome.rank(other);
    const int64_t step = outcome.rank(mine).started - 1;
    if (progress.over || progress.started >= step - scenario.options.sync.number) continue;
    outcome.broken = fmt::format("rank {} is in step {} while rank {} has only begun {}", mine,
                                 step, other, progress.started);
  }
}

inline std::string together(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + ",";
  return all;
}

inline Task<> train(World& world, const Scenario& scenario, Outcome& outcome) {
  Progress& mine = outcome.rank(world.rank());
  ToyReplica replica(scenario.layout, scenario.optimizer, world.rank());
  fill_kept(replica);
  if (world.rank() != 0) {  // everybody gets rank 0's
    for (float& weight : replica.values()) weight = NAN;
    for (const Floats& arena : replica.kept()) std::fill_n(arena.data, arena.count, NAN);
  }
  const auto strategy =
      make_strategy(world, scenario.team, scenario.options, scenario.optimizer, replica);
  Meetings meetings(world, scenario.team, !scenario.options.sync.in_step());
  co_await strategy->begin();
  mine.began = world.now();
  for (mine.step = scenario.first_step; mine.step < scenario.last_step();) {
    StepInfo info;
    info.step = mine.step;
    info.weight = scenario.weight(world.rank(), mine.step);
    info.hyper = hyper_of(scenario, mine.step);
    info.clip = scenario.clip;
    ++mine.started;
    mine.step += co_await strategy->step(info);
    if (scenario.is(Sync::Kind::ssp)) check_distance(scenario, world.rank(), outcome);
  }
  co_await strategy->settle();
  mine.settled = true;
  const std::string text = fmt::format("{}", world.rank());
  const Meetings::Decide decide = together;
  co_await meetings.meet(text, decide);
  co_await strategy->agree();
  mine.met = co_await meetings.meet(text, decide);
  mine.ending = true;
  co_await strategy->collect();
  co_await strategy->end();
  if (!replica.consistent()) outcome.broken = "weights changed while a pass was reading them";
  mine.weights = replica.values();
  if (world.rank() == 0) {
    outcome.kept = result_of(replica).kept;
    outcome.staleness = strategy->staleness();
  }
}

inline Task<> take_part(World& world, const Scenario& scenario, Outcome& outcome) {
  const Leaving leaving{outcome.rank(world.rank())};
  if (world.rank() < scenario.team.workers) {
    co_await train(world, scenario, outcome);
  } else {
    co_await serve(world, scenario.team, scenario.options, scenario.optimizer);
  }
}

inline Outcome run_scenario(const Scenario& scenario, const world::SimOptions& options) {
  Outcome outcome;
  outcome.ranks.resize(static_cast<size_t>(scenario.ranks()));
  world::SimCluster cluster(options);
  outcome.errors = cluster.run([&](World& world) { return take_part(world, scenario, outcome); });
  outcome.seconds = cluster.now();
  outcome.trace = cluster.statistics().trace;
  return outcome;
}

/// Without the disaster.
inline Outcome run_calm(const Scenario& scenario) {
  return run_scenario(scenario, scenario.cluster);
}

/// With it, at its part of the time that the run takes without.
inline Outcome run_disaster(const Scenario& scenario, double seconds) {
  world::SimOptions options = scenario.cluster;
  const double at = scenario.moment * seconds;
  if (scenario.disaster == Scenario::Disaster::crash) {
    options.faults.crashes.push_back({scenario.crashes, at});
  } else {
    options.faults.partitions.push_back({scenario.cut_off, at, at + 60});
  }
  Outcome outcome = run_scenario(scenario, options);
  outcome.disaster_at = at;
  return outcome;
}

}  // namespace syrtos::strategy
