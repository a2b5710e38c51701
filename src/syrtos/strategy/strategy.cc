#include "syrtos/strategy/strategy.h"

#include "syrtos/strategy/all_reduce.h"
#include "syrtos/strategy/local_steps.h"
#include "syrtos/strategy/servers/training.h"
#include "syrtos/strategy/shared.h"

namespace syrtos::strategy {

Task<> Strategy::ask_servers(Command) { co_return; }

std::unique_ptr<Strategy> make_strategy(World& world, const Team& team, const Options& options,
                                        const optim::OptimizerOptions& optimizer,
                                        Replica& replica) {
  if (options.exchange.uses_servers()) {
    return std::make_unique<ServerTraining>(world, team, options, optimizer, replica);
  }
  if (options.exchange.shares_memory()) {
    return std::make_unique<SharedTraining>(world, team, replica);
  }
  if (options.sync.average_every() > 0) {
    return std::make_unique<LocalSteps>(world, team, options, replica);
  }
  return std::make_unique<AllReduceTraining>(world, team, options, replica);
}

}  // namespace syrtos::strategy
