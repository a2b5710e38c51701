#include "syrtos/api/launch.h"

#include <algorithm>

#include "syrtos/api/resume.h"
#include "syrtos/api/run_network.h"
#include "syrtos/api/settle.h"
#include "syrtos/api/task.h"
#include "syrtos/api/teacher.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/parts.h"
#include "syrtos/run/progress.h"
#include "syrtos/strategy/compute_times.h"
#include "syrtos/strategy/team.h"

namespace syrtos::api {

namespace fs = std::filesystem;

namespace {

/// Everything that can be refused is refused here, before a process is started.
job::Job check(const TrainRequest& request, const RankPrograms& programs,
               const Surroundings& surroundings) {
  const bool travels = request.own.network && request.own.network->file() != nullptr;
  if (((request.own.network && !travels) || request.own.data) && !programs.bring_own) {
    fail_request(
        "a network or data of one's own does not travel to other processes: train in this one "
        "(api::train), or let the ranks bring it along (RankPrograms::bring_own)");
  }
  job::Job job = job::resolve(request.job, surroundings.cpu, surroundings.cache_home,
                              own_of(request, request.job));
  settle(request.job, surroundings, job);
  load_teacher(surroundings, job);  // asked here, where ranks of this machine find its answers
  if (job.strategy.exchange.shares_memory()) {
    fail_request("--exchange shared: the workers are threads of one process: use api::train");
  }
  if (job.strategy.exchange.needs_mpi()) {
    fail_request("--exchange allreduce:mpi: only MPI jobs have it: use --launcher mpi or mpirun");
  }
  if (!job.replay.empty()) strategy::read_compute_times(job.replay);
  return job;
}

}  // namespace

job::JobRequest fill_hosts(job::JobRequest job, const std::vector<launch::Host>& hosts) {
  if (job.workers > 1) return job;
  const strategy::Exchange exchange = strategy::parse_exchange(job.exchange);
  const int slots = launch::total_slots(hosts);
  job.workers = std::max(1, slots - exchange.own_servers());
  return job;
}

Launched launch_training(const TrainRequest& asked, const RankPrograms& programs,
                         const Surroundings& surroundings, const OnRun& on_run) {
  const double begun = wall_clock();
  TrainRequest request = asked;
  if (!asked.resume.empty() && !asked.claim.force) run::refuse_owned(asked.resume);
  request.job = going_on(asked.resume, asked.job);
  const job::Job job = check(request, programs, surroundings);
  const double prepared = wall_clock();
  const strategy::Team team = strategy::team_of(job.strategy, job.workers);
  launch::LaunchOptions options;
  if (programs.allocation) {
    options.hosts = programs.allocation->hosts;
    options.remote = programs.allocation->shell;
  } else if (programs.hosts.empty()) {
    options.hosts = {launch::this_machine(surroundings.cpu.cores, team.ranks())};
  } else {
    options.hosts = launch::read_hosts(programs.hosts);
    options.remote = launch::RemoteShell{programs.remote_shell};
  }
  if (options.remote) {
    options.remote->directory = fs::current_path();
    options.remote->make_directory = !programs.program.package.empty();
    launch::prepare_hosts(options.hosts, *options.remote, programs.program,
                          surroundings.should_stop);
  }
  options.placements = launch::place(team.workers, team.servers, options.hosts);
  const bool is_new = request.resume.empty();
  Launched launched;
  launched.run =
      is_new ? run::Directory::reserve(job.run, job.network.info().name) : request.resume;
  TrainRequest task = request;
  if (job.network.file() != nullptr) task.own.network = job.network;
  if (task.claim.token.empty()) task.claim.token = random_token();
  if (task.asked <= 0) task.asked = begun;
  task.data_s += prepared - begun;
  if (is_new) task.job.run = launched.run.string();
  // Hosts that chose for themselves might not choose the same.
  task.job.precision = to_string(job.precision.dtype);
  task.precision_reason = job.precision.reason;
  options.command = programs.command;
  options.command.insert(options.command.end(), {"--run", launched.run.string()});
  options.task = to_task(task);
  options.patience = job.network_patience;
  options.encrypted = job.encrypted;
  options.tolerate_lost_workers = job.strategy.tolerates_losses();
  if (job.may_lose_workers()) options.min_workers = job.min_workers;
  options.replace_lost = programs.replace_lost;
  options.columns = programs.columns;
  options.write = programs.write;
  options.should_stop = surroundings.should_stop;
  if (on_run) on_run(launched.run);
  launched.end = launch::launch(options);
  const auto directory = run::Directory::at(launched.run);
  // A run that was refused is as it was, and one that another process has taken over is its own.
  constexpr int kRefused = 2;
  const bool refused = !is_new && launched.end.code == kRefused;
  if (refused || !run::is_free_after(launched.run, task.claim.token)) return launched;
  if (is_new) directory.remove_if_unused();
  run::close_account(directory, wall_clock() - task.asked);
  if (!launched.end.failure.empty()) run::note_failure(directory, launched.end.failure);
  return launched;
}

}  // namespace syrtos::api
