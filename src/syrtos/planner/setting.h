#pragma once

#include <vector>

#include "syrtos/planner/part_work.h"
#include "syrtos/planner/simulate.h"
#include "syrtos/strategy/layout.h"
#include "syrtos/world/sim/options.h"
#include "syrtos/world/world.h"

namespace syrtos::planner {

/// Everything the ranks of one simulation share.
struct Setting {
  const Workload& workload;
  const ClusterProfile& cluster;
  const Candidate& candidate;
  strategy::Team team = {};
  strategy::Options options = {};
  strategy::Layout layout = {};
  strategy::ComputeTimes::Pass pass = {};
  std::vector<PartWork> parts = {};  ///< of a network in parts, in place of the layout and the pass
  std::vector<double> slower = {};   ///< by rank: fewer cores than when it was measured
  std::vector<double> jitter = {};   ///< by rank
  uint64_t seed = 1;
  double stagger = 0;   ///< seconds over which workers that do not wait for each other begin
  int64_t warm_up = 0;  ///< steps
  int64_t steps = 0;    ///< that count, after them
};

Setting setting_of(const Workload& workload, const ClusterProfile& cluster,
                   const Candidate& candidate, uint64_t seed);

/// The simulated cluster that it runs on.
world::SimOptions sim_options(const Setting& setting);

/// Messages and bytes that all ranks send in the simulation, beginning and end included.
world::Traffic simulated_traffic(const Setting& setting);

}  // namespace syrtos::planner
