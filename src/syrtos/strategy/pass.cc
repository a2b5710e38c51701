#include "syrtos/strategy/pass.h"

#include <algorithm>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/collective/collective.h"

namespace syrtos::strategy {

namespace {

Task<> add_up(World& world, const collective::Group& workers, Floats sums, int64_t step) {
  collective::ReduceOptions options;
  options.tag = {world::Purpose::statistics, 0, static_cast<uint32_t>(step)};
  options.algorithm = collective::Algorithm::doubling;  // small, and computing waits for it
  options.priority = 1 << 20;
  co_await collective::all_reduce(world, workers, sums, options);
}

/// Whether stage i could run when the one before it is over, without anybody doing anything.
bool can_follow(const std::vector<Stage>& stages, size_t i, const Arrivals& arrivals,
                const PartMessages* messages) {
  const Stage& before = stages[i - 1];
  return before.sums.empty() && before.blocks.empty() &&
         (messages == nullptr || messages->ready(i)) &&
         std::all_of(stages[i].needs.begin(), stages[i].needs.end(),
                     [&](int bucket) { return arrivals.here(bucket); });
}

}  // namespace

collective::Runner& BlockRunners::prepared(const BlockMove& move, size_t index) {
  const auto [found, is_new] = runners_.try_emplace(&move, world_, workers_);
  if (is_new) {
    found->second.add({move.round},
                      {.data = move.memory,
                       .tag = {world::Purpose::activations, static_cast<uint16_t>(index)},
                       .priority = 1 << 20});  // computing waits for it
  }
  return found->second;
}

Task<> BlockRunners::run(const Stage& stage, size_t index, int64_t step) {
  for (const BlockMove& move : stage.blocks) {
    co_await prepared(move, index).run(static_cast<uint32_t>(step));
  }
}

Task<> run_stage(World& world, Replica& replica, Meter& meter, size_t stage) {
  Meter::Doing computes(meter, Part::backward);
  const std::vector<Stage>& stages = replica.stages();
  const bool several = stages.back().micro > 0;
  const std::optional<int> micro = several ? std::optional<int>(stages[stage].micro) : std::nullopt;
  co_await world.compute(stages[stage].seconds, [&replica, stage] { replica.run(stage); });
  computes.divide(replica.forward_share(stage), micro);
}

Task<> run_pass(World& world, const collective::Group& workers, Replica& replica,
                Arrivals& arrivals, Meter& meter, int64_t step,
                std::function<void(int bucket)> finished, BlockRunners* blocks,
                PartMessages* messages) {
  const std::vector<Stage>& stages = replica.stages();
  if (messages != nullptr) messages->begin(stages, step);
  world::Started running;
  world::Started next;  // is dropped first when the pass is given up
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const int bucket : stages[i].needs) co_await arrivals.wait(bucket);
    if (messages != nullptr && !next.valid()) co_await messages->wait(i);
    running = next.valid() ? std::exchange(next, world::Started())
                           : world::Started(world, run_stage(world, replica, meter, i));
    // It computes: one that waits behind it begins without anybody being woken in between.
    if (!running.done() && i + 1 < stages.size() && can_follow(stages, i + 1, arrivals, messages)) {
      next = world::Started(world, run_stage(world, replica, meter, i + 1));
    }
    co_await running.join();
    if (messages != nullptr) messages->ran(i);
    if (workers.size() > 1 && !stages[i].sums.empty()) {
      const Meter::Doing waits(meter, Part::network);
      for (const Floats& sums : stages[i].sums) co_await add_up(world, workers, sums, step);
    }
    if (workers.size() > 1 && !stages[i].blocks.empty()) {
      SYRTOS_CHECK(blocks != nullptr, "stage {} has blocks that nobody moves", i);
      const Meter::Doing waits(meter, Part::network);
      co_await blocks->run(stages[i], i, step);
    }
    if (i + 1 == stages.size()) meter.computed();
    for (const int bucket : stages[i].finishes) finished(bucket);
  }
}

}  // namespace syrtos::strategy
