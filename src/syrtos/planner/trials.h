#pragma once

#include "syrtos/planner/plan.h"

namespace syrtos::planner {

/// What a cluster does with many trainings of a network that are independent of each other: nothing
/// crosses between them, so all hosts are busy all the time.
struct Trials {
  int at_once = 0;      ///< on all hosts; 0: it does not fit on any
  double speed_up = 0;  ///< samples of all of them, against one training on the first host, at most
};

/// Each with as many threads as the computing was measured with.
Trials trials_of(const Workload& workload, const ClusterProfile& cluster);

/// Whether that uses the hosts so much better than the plan's way that people should know.
bool is_better_than(const Trials& trials, const Plan& plan, const ClusterProfile& cluster);

}  // namespace syrtos::planner
