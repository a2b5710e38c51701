#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "syrtos/optim/optimizer.h"
#include "syrtos/strategy/meter.h"
#include "syrtos/strategy/options.h"
#include "syrtos/strategy/replica.h"
#include "syrtos/strategy/servers/protocol.h"
#include "syrtos/strategy/team.h"
#include "syrtos/world/world.h"

namespace syrtos::strategy {

using world::Task;
using world::World;

struct StepInfo {
  int64_t step = 0;  ///< of the run, from 0
  /// Samples of this worker over the mean number: 1 unless shares differ; 0: it has none, and its
  /// gradient means nothing.
  double weight = 1;
  optim::Hyper hyper;  ///< its step: updates that what the optimiser keeps has seen
  double clip = 0;     ///< largest norm of the gradient; 0: any
};

/// How a worker trains together with the others. One object per worker; all coroutines.
class Strategy {
 public:
  explicit Strategy(const World& world) : meter_(world) {}
  virtual ~Strategy() = default;

  /// Everybody gets rank 0's weights, statistics and what the optimiser keeps.
  virtual Task<> begin() = 0;
  /// A pass, and the exchange of what it found. The exchange may go on afterwards: it is awaited
  /// where the next pass needs its result. Returns by how many steps the run is further.
  virtual Task<int64_t> step(const StepInfo& info) = 0;
  /// Awaits what is on its way; the weights are complete then, but with async not those of others.
  virtual Task<> settle() = 0;
  /// After every worker has settled: all have the same weights, the exact ones.
  virtual Task<> agree() = 0;
  /// After agree(): rank 0 has what the optimiser keeps.
  virtual Task<> collect() = 0;
  /// Rank 0: servers of their own are to tell what they measured, each to its own ServerObserver.
  virtual Task<> ask_servers(Command what);
  /// Ends servers. Called by every worker, once, after everything else.
  virtual Task<> end() = 0;

  /// After a failure: gives up what is on its way and brings the replica back to the end of a step.
  /// Returns how many steps are done then; nothing where this worker alone cannot do that.
  virtual Task<std::optional<int64_t>> go_back() { co_return std::nullopt; }

  /// The step that go_back() may lead to although it is long ago; -1: there is none.
  virtual int64_t copied() const { return -1; }

  /// Where this worker's time goes: passes, updates and exchanges are noted here by the strategy,
  /// the rest by whoever does it.
  Meter& meter() { return meter_; }
  /// How many updates came between a worker's pull and its push: staleness -> pushes. Of this
  /// process's servers, or of this worker where weights are shared.
  virtual std::map<int64_t, int64_t> staleness() const { return {}; }
  /// Gradients (of pieces of the parameters) that came too late to count; after end().
  virtual int64_t dropped() const { return 0; }
  /// The part of the last step's gradient that did not come too late.
  virtual double counted() const { return 1; }
  /// After agree(), where workers update one by one: updates that what the optimiser keeps has
  /// seen, before this run was resumed and since. Elsewhere 0: each step is one.
  virtual int64_t updates() const { return 0; }

 protected:
  Meter meter_;  // outlives whatever runs
};

/// The strategy of a worker. `replica` outlives it. With servers in workers, it serves too.
std::unique_ptr<Strategy> make_strategy(World& world, const Team& team, const Options& options,
                                        const optim::OptimizerOptions& optimizer, Replica& replica);

}  // namespace syrtos::strategy
