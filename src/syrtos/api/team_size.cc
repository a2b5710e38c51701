#include "syrtos/api/team_size.h"

#include "syrtos/base/error.h"
#include "syrtos/strategy/options.h"

namespace syrtos::api {

int workers_of(const job::JobRequest& job, const std::string& by, int ranks, bool asked_for) {
  const strategy::Exchange exchange = strategy::parse_exchange(job.exchange);
  if (exchange.shares_memory()) {
    fail_request(
        "--exchange shared: the workers are threads of one process, found {}: leave it out, or use "
        "--exchange ps",
        by);
  }
  const int workers = ranks - exchange.own_servers();
  if (workers < 1) {
    fail_request("{} started {} ranks, and {} of them would be servers: start more", by, ranks,
                 exchange.own_servers());
  }
  if (asked_for && job.workers != workers) {
    fail_request("--workers {}: {} started {} ranks, {} of them workers: leave --workers out",
                 job.workers, by, ranks, workers);
  }
  return workers;
}

}  // namespace syrtos::api
