#pragma once

#include <functional>
#include <map>

#include "syrtos/collective/group.h"
#include "syrtos/collective/run.h"
#include "syrtos/strategy/arrivals.h"
#include "syrtos/strategy/part_messages.h"
#include "syrtos/strategy/replica.h"

namespace syrtos::strategy {

/// What crosses between the stages of a pass, prepared when it first does.
class BlockRunners {
 public:
  /// Both outlive it.
  BlockRunners(World& world, const collective::Group& workers) : world_(world), workers_(workers) {}

  /// Those of a stage, whose address stays.
  Task<> run(const Stage& stage, size_t index, int64_t step);

 private:
  collective::Runner& prepared(const BlockMove& move, size_t index);

  World& world_;
  const collective::Group& workers_;
  std::map<const BlockMove*, collective::Runner> runners_;
};

/// One pass, stage by stage, measured:
///   wait until the weights that the stage needs have arrived, and what other parts send it
///   compute it; the next one stands in line behind it if all of that is there
///   let leave what other parts of the network wait for
///   add up, over all workers, the sums that the next stage needs (synchronised batch norm), or
///   let the blocks cross that it reads (layers divided between workers)
///   tell `finished` of each bucket whose gradient is final now
/// `workers` are those that have the same part, or all.
Task<> run_pass(World& world, const collective::Group& workers, Replica& replica,
                Arrivals& arrivals, Meter& meter, int64_t step,
                std::function<void(int bucket)> finished, BlockRunners* blocks = nullptr,
                PartMessages* messages = nullptr);

/// One of its stages.
Task<> run_stage(World& world, Replica& replica, Meter& meter, size_t stage);

}  // namespace syrtos::strategy
