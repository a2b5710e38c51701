#include "syrtos/strategy/pass.h"

#include "syrtos/collective/collective.h"

namespace syrtos::strategy {

namespace {

Task<> add_up(World& world, const collective::Group& workers, Floats sums, int64_t step) {
  collective::Exchange exchange;
  exchange.tag = {world::Purpose::statistics, 0, static_cast<uint32_t>(step)};
  exchange.algorithm = collective::Algorithm::doubling;  // small, and computing waits for it
  exchange.priority = 1 << 20;
  co_await collective::all_reduce(world, workers, sums, exchange);
}

}  // namespace

Task<> run_stage(World& world, Replica& replica, Meter& meter, size_t stage) {
  Meter::Doing computes(meter, Part::backward);
  co_await world.compute(replica.stages()[stage].seconds,
                         [&replica, stage] { replica.run(stage); });
  computes.divide(replica.forward_share(stage));
}

Task<> run_pass(World& world, const collective::Group& workers, Replica& replica,
                Arrivals& arrivals, Meter& meter, int64_t step,
                std::function<void(int bucket)> finished) {
  const std::vector<Stage>& stages = replica.stages();
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const int bucket : stages[i].needs) co_await arrivals.wait(bucket);
    co_await run_stage(world, replica, meter, i);
    if (workers.size() > 1 && !stages[i].sums.empty()) {
      const Meter::Doing waits(meter, Part::network);
      for (const Floats& sums : stages[i].sums) co_await add_up(world, workers, sums, step);
    }
    if (i + 1 == stages.size()) meter.computed();
    for (const int bucket : stages[i].finishes) finished(bucket);
  }
}

}  // namespace syrtos::strategy
