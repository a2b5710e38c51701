#pragma once

#include <functional>

#include "syrtos/collective/group.h"
#include "syrtos/strategy/arrivals.h"
#include "syrtos/strategy/replica.h"

namespace syrtos::strategy {

/// One pass, stage by stage, measured:
///   wait until the weights that the stage needs have arrived
///   compute it; the next one stands in line behind it if its weights are there
///   add up, over all workers, the sums that the next stage needs (synchronised batch norm)
///   tell `finished` of each bucket whose gradient is final now
Task<> run_pass(World& world, const collective::Group& workers, Replica& replica,
                Arrivals& arrivals, Meter& meter, int64_t step,
                std::function<void(int bucket)> finished);

/// One of its stages.
Task<> run_stage(World& world, Replica& replica, Meter& meter, size_t stage);

}  // namespace syrtos::strategy
