#include <fmt/format.h>

#include <optional>

#include "syrtos/api/rank_work.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::api {

namespace {

/// Of the ranks that MPI has started, those that are no servers.
int workers_of(const job::JobRequest& job, int ranks, bool asked_for) {
  const strategy::Exchange exchange = strategy::parse_exchange(job.exchange);
  if (exchange.shares_memory()) {
    fail_request(
        "--exchange shared: the workers are threads of one process, found mpirun: leave it out, or "
        "use --exchange ps");
  }
  const int workers = ranks - exchange.own_servers();
  if (workers < 1) {
    fail_request("mpirun started {} ranks, and {} of them would be servers: start more", ranks,
                 exchange.own_servers());
  }
  if (asked_for && job.workers != workers) {
    fail_request("--workers {}: mpirun started {} ranks, {} of them workers: leave --workers out",
                 job.workers, ranks, workers);
  }
  return workers;
}

}  // namespace

void train_under_mpi(TrainRequest request, bool workers_are_asked_for,
                     const Surroundings& surroundings, const RankHooks& hooks,
                     const OnRun& on_run) {
  world::MpiJob mpi;
  name_log(mpi.rank(), "");
  std::optional<RankWork> work;
  std::string refused;
  try {
    request.job.workers = workers_of(request.job, mpi.size(), workers_are_asked_for);
    work.emplace(request, mpi.rank(), surroundings);
  } catch (const std::exception& error) {
    refused = error.what();
  }
  // Also what only one host lacks ends all, and all say the same.
  const std::vector<std::string> refusals = mpi.gather(refused);
  for (size_t rank = 0; rank < refusals.size(); ++rank) {
    if (!refusals[rank].empty()) fail_request("rank {}: {}", rank, refusals[rank]);
  }
  const std::unique_ptr<world::MpiWorld> world = mpi.make_world();
  work->run(*world, hooks, surroundings.should_stop, nullptr, on_run);
}

}  // namespace syrtos::api
