#include <fmt/format.h>

#include <optional>

#include "syrtos/api/rank_work.h"
#include "syrtos/api/run_network.h"
#include "syrtos/api/team_size.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/job/networks.h"
#include "syrtos/onnx/network.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::api {

namespace {

/// A network that comes from a file is read by rank 0 alone and travels to the others. What rank 0
/// cannot read it refuses by itself, when it resolves the job.
void share_network(const world::MpiJob& mpi, TrainRequest& request) {
  if (request.own.network || !onnx::is_onnx_file(request.job.network)) return;
  std::string text;
  if (mpi.rank() == 0) {
    try {
      const job::Own own = own_of(request, request.job);
      const nn::Network network =
          own.network ? *own.network : job::find_network(request.job.network);
      text = network.file()->path + '\n' + network.file()->bytes;
    } catch (const RequestError&) {
      text.clear();
    }
  }
  text = mpi.gather(text)[0];
  const size_t end = text.find('\n');
  if (end == std::string::npos) return;
  request.own.network = onnx::network_of(text.substr(end + 1), text.substr(0, end));
}

/// An MPI that another one has started takes each rank for a job of its own: several trainings of
/// one worker, all in one run directory.
void check_size(const world::MpiJob& mpi, const Surroundings& surroundings) {
  if (surroundings.mpi_ranks.empty()) return;
  if (std::to_string(mpi.size()) == surroundings.mpi_ranks) return;
  fail_request(
      "{} ranks were started, but MPI knows of {}: the MPI library of this host is not that of the "
      "mpirun or srun that started it; see LD_LIBRARY_PATH and srun's --mpi",
      surroundings.mpi_ranks, mpi.size());
}

}  // namespace

void train_under_mpi(TrainRequest request, bool workers_are_asked_for,
                     const Surroundings& surroundings, const RankHooks& hooks,
                     const OnRun& on_run) {
  world::MpiJob mpi(surroundings.mpi);
  name_log(mpi.rank(), "");
  check_size(mpi, surroundings);
  share_network(mpi, request);
  std::optional<RankWork> work;
  std::string refused;
  try {
    request.job.workers = workers_of(request.job, "mpirun", mpi.size(), workers_are_asked_for);
    work.emplace(request, RankWork::Place{.rank = mpi.rank()}, surroundings);
  } catch (const std::exception& error) {
    refused = error.what();
  }
  // Also what only one host lacks ends all, and all say the same.
  const std::vector<std::string> refusals = mpi.gather(refused);
  for (size_t rank = 0; rank < refusals.size(); ++rank) {
    if (!refusals[rank].empty()) fail_request("rank {}: {}", rank, refusals[rank]);
  }
  std::string failure = "MPI cannot go on";
  const std::unique_ptr<world::MpiWorld> world = mpi.make_world();
  world->before_abort([&] {
    if (hooks.aborting) hooks.aborting(failure);
  });
  try {
    work->run(*world, hooks, {.stop = surroundings.should_stop, .pause = {}}, nullptr, on_run);
  } catch (const std::exception& error) {
    failure = error.what();
    throw;
  }
}

}  // namespace syrtos::api
