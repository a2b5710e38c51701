#include "syrtos/strategy/servers/policy.h"

#include "syrtos/strategy/servers/backup.h"
#include "syrtos/strategy/servers/sums.h"
#include "syrtos/strategy/servers/updates.h"

namespace syrtos::strategy {

std::unique_ptr<ServerPolicy> make_policy(const ServerTools& tools) {
  const Sync& sync = tools.options.sync;
  if (sync.in_step()) return std::make_unique<SumOfAll>(tools);
  if (sync.left_out() > 0) return std::make_unique<FirstGradients>(tools);
  return std::make_unique<UpdateOnArrival>(tools);
}

}  // namespace syrtos::strategy
