#include "syrtos/strategy/worker_loop.h"

namespace syrtos::strategy {

Task<> take_steps(Strategy& strategy, StepSums& sums, StepHandler& handler) {
  while (handler.goes_on()) {
    const bool wants_to_stop = handler.wants_to_stop();
    if (sums.stop_agreed() || (wants_to_stop && !sums.shared())) {
      co_await handler.stop();
      co_return;
    }
    co_await handler.load();
    const StepInfo info = handler.begin_pass();
    const int64_t steps = co_await strategy.step(info);
    const Sums mine = co_await handler.look();
    co_await sums.add(mine, wants_to_stop);
    co_await handler.end_step(steps, sums.take());
  }
}

Task<> settle(Strategy& strategy, StepSums& sums) {
  co_await strategy.settle();
  co_await sums.complete();
}

}  // namespace syrtos::strategy
