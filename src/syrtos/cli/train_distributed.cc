#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/base/parallel.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/ranks.h"
#include "syrtos/cli/train_request.h"
#include "syrtos/job/resolve.h"
#include "syrtos/launch/launch.h"
#include "syrtos/launch/membership.h"
#include "syrtos/run/progress.h"
#include "syrtos/strategy/compute_times.h"
#include "syrtos/train/server_work.h"
#include "syrtos/train/team_work.h"
#include "syrtos/world/mpi/mpi_world.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::cli {

namespace fs = std::filesystem;
using launch::Role;
using train::Outcome;
using world::Task;
using world::World;

namespace {

job::Job resolve(const job::JobRequest& request, const Context& context) {
  return job::resolve(request, context.cpu, context.environment.cache_home);
}

/// Tells the launcher what this rank does, and people what worker 0 does.
class RankProgress final : public train::TrainObserver {
 public:
  RankProgress(Progress* shown, launch::Membership* membership)
      : shown_(shown), membership_(membership) {}

  void started(const train::StartInfo& info) override {
    if (membership_ != nullptr) membership_->begun();
    if (shown_ != nullptr) shown_->started(info);
  }
  void step(const train::StepProgress& info) override {
    if (shown_ != nullptr) shown_->step(info);
    if (membership_ != nullptr) {
      membership_->report(fmt::format("step {} of {}", info.step, info.total_steps));
    }
  }
  void epoch(const train::EpochMetrics& metrics) override {
    if (shown_ != nullptr) shown_->epoch(metrics);
  }

 private:
  Progress* shown_;
  launch::Membership* membership_;
};

/// What a rank trains or serves with, made before it meets the others: building a network takes a
/// while.
struct RankWork {
  std::unique_ptr<ThreadScope> threads;
  train::ServerJob serving;
  std::unique_ptr<train::Trainer> trainer;  ///< none: a server
};

RankWork prepare(const TrainRequest& request, job::JobRequest job, world::Rank rank,
                 const Context& context) {
  job::Job resolved = resolve(job, context);
  auto threads = std::make_unique<ThreadScope>(resolved.threads);
  train::TrainerOptions options;
  if (rank == 0) options = trainer_options(resolved, request, context);
  RankWork work{std::move(threads), train::server_job(resolved), {}};
  if (rank < work.serving.team.workers) {
    work.trainer = std::make_unique<train::Trainer>(std::move(resolved), rank, std::move(options));
  }
  return work;
}

/// Trains or serves in a world that has run(Task).
template <typename AnyWorld>
int run_work(AnyWorld& world, RankWork& work, const TrainRequest& request,
             const std::function<bool()>& should_stop, Progress& progress,
             launch::Membership* membership) {
  if (!work.trainer) {
    if (membership != nullptr) membership->report("serving weights");
    world.run(train::serve(world, work.serving));
    return kExitDone;
  }
  const bool first = world.rank() == 0;
  if (first) open_run(*work.trainer, request);
  // Where there is a launcher, it has the page.
  std::unique_ptr<report::LivePage> page;
  if (first && membership == nullptr) page = show_page(request, work.trainer->directory().path());
  if (membership != nullptr) membership->report("exchanging the first weights");
  RankProgress told(first ? &progress : nullptr, membership);
  Outcome outcome;
  world.run(train::keep_result(work.trainer->run(world, told, should_stop), outcome));
  progress.clear();
  return first ? report(outcome, work.trainer->directory(), request) : kExitDone;
}

/// The command line of the ranks: this one, with what was decided here.
std::vector<std::string> rank_command(const Context& context, const std::string& run) {
  std::vector<std::string> command = own_command(context);
  if (!run.empty()) {
    command.push_back("--run");
    command.push_back(run);
  }
  return command;
}

std::string chosen_launcher(const TrainRequest& request) {
  const std::string name = !request.launcher.empty() ? request.launcher
                           : request.hosts.empty()   ? "local"
                                                     : "ssh";
  if (name != "local" && name != "ssh" && name != "mpi") {
    fail_request("--launcher: expected local, ssh or mpi, found '{}'", name);
  }
  if (name == "ssh" && request.hosts.empty()) {
    fail_request("--launcher ssh: which hosts? Give --hosts FILE, one name per line");
  }
  if (name == "local" && !request.hosts.empty()) {
    fail_request(
        "--launcher local starts processes on this machine: leave --hosts out, or use ssh");
  }
  return name;
}

/// Becomes mpirun, which starts this program again as its ranks.
[[noreturn]] void exec_mpirun(const TrainRequest& request, int ranks, const Context& context) {
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
  if (!request.hosts.empty()) {
    std::string list;
    for (const launch::Host& host : launch::read_hosts(request.hosts)) {
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.slots);
    }
    words.insert(words.end(), {"--host", list});
  } else {
    words.push_back("--oversubscribe");
  }
  if (geteuid() == 0) words.push_back("--allow-run-as-root");
  for (std::string& word : rank_command(context, "")) words.push_back(std::move(word));
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp("mpirun", pointers.data());
  fail_request("--launcher mpi: mpirun cannot be started: {}; is Open MPI installed?",
               std::strerror(errno));
}

/// What can be done after a run has failed; empty: nothing is there to go on with.
std::string resume_hint(const fs::path& run, const TrainRequest& request) {
  const auto directory = run::Directory::at(run);
  if (!directory.has(run::File::job)) return {};
  return fmt::format("{}; go on with:\n  {}\n",
                     directory.has(run::File::last_checkpoint)
                         ? fmt::format("the last checkpoint is {}", directory.last().string())
                         : "no checkpoint was written yet (see --checkpoint-every)",
                     resume_command(run, request));
}

}  // namespace

bool is_distributed(const job::JobRequest& job) {
  return job.workers > 1 || strategy::parse_exchange(job.exchange).uses_servers();
}

int launch_training(const TrainRequest& request, job::JobRequest job, const Context& context) {
  if (!request.hosts.empty() && !request.sets("distribute.workers") && job.workers == 1) {
    const strategy::Exchange exchange = strategy::parse_exchange(job.exchange);
    const int slots = launch::total_slots(launch::read_hosts(request.hosts));
    job.workers = std::max(1, slots - exchange.own_servers());
  }
  const job::Job resolved = resolve(job, context);  // refuses before anything starts
  if (resolved.strategy.exchange.shares_memory()) {
    return train_in_threads(request, resolved, context);
  }
  const strategy::Team team = train::team_of(resolved);
  const std::string launcher = chosen_launcher(request);
  if (launcher != "mpi" && resolved.strategy.exchange.needs_mpi()) {
    fail_request("--exchange allreduce:mpi: only MPI jobs have it: use --launcher mpi or mpirun");
  }
  if (!job.replay.empty()) strategy::read_compute_times(job.replay);
  if (launcher == "mpi") exec_mpirun(request, team.ranks(), context);

  launch::LaunchOptions options;
  if (launcher == "ssh") {
    options.hosts = launch::read_hosts(request.hosts);
    reach_hosts(options, request.remote_shell, context);
  } else {
    options.hosts = {launch::this_machine(context.cpu.cores, team.ranks())};
  }
  options.placements = launch::place(team.workers, team.servers, options.hosts);
  const bool is_new = request.resume.empty();
  const fs::path run = is_new ? run::Directory::reserve(resolved.run, resolved.network.info().name)
                              : fs::path(request.resume);
  options.command = rank_command(context, is_new ? run.string() : "");
  options.command.insert(options.command.end(), {"--workers", std::to_string(job.workers)});
  options.tolerate_lost_workers = resolved.strategy.tolerates_losses();
  options.columns = launch::terminal_columns();
  options.should_stop = context.interrupted;
  const auto page = show_page(request, run);
  const launch::LaunchEnd end = launch::launch(options);
  if (is_new) run::Directory::at(run).remove_if_unused();
  for (const world::Rank rank : end.lost) {
    fmt::print(stderr, "the run went on without rank {}, which was lost\n", rank);
  }
  if (!end.failure.empty()) {
    run::note_failure(run::Directory::at(run), end.failure);
    fmt::print(stderr, "error: {}\n{}", end.failure,
               end.code == kExitFailed ? resume_hint(run, request) : "");
  }
  return end.code;
}

int train_as_rank(const TrainRequest& request, job::JobRequest job, const Context& context) {
  RankProcess self(request.join);
  const launch::Invitation& invitation = self.invitation();
  if (job.threads == 0) job.threads = invitation.cores;
  RankWork work = prepare(request, std::move(job), invitation.rank, context);
  return self.run([&](world::TcpWorld& world, launch::Membership& membership) {
    Progress progress(request.json ? stderr : stdout, context.environment.colour,
                      request.json ? invitation.error_columns : invitation.output_columns);
    const auto should_stop = [&] { return membership.stop_requested() || context.interrupted(); };
    return run_work(world, work, request, should_stop, progress, &membership);
  });
}

int train_under_mpi(const TrainRequest& request, job::JobRequest job, const Context& context) {
  world::MpiJob mpi;
  name_log(mpi.rank(), "");
  const strategy::Exchange exchange = strategy::parse_exchange(job.exchange);
  if (exchange.shares_memory()) fail_not_one_process("mpirun");
  const int servers = exchange.own_servers();
  const int workers = mpi.size() - servers;
  if (workers < 1) {
    fail_request("mpirun started {} ranks, and {} of them would be servers: start more", mpi.size(),
                 servers);
  }
  if (request.sets("distribute.workers") && job.workers != workers) {
    fail_request("--workers {}: mpirun started {} ranks, {} of them workers: leave --workers out",
                 job.workers, mpi.size(), workers);
  }
  job.workers = workers;
  std::optional<RankWork> work;
  std::string refused;
  try {
    work.emplace(prepare(request, std::move(job), mpi.rank(), context));
  } catch (const std::exception& error) {
    refused = error.what();
  }
  // Also what only one host lacks ends all, and one of them says it.
  const std::vector<std::string> refusals = mpi.gather(refused);
  for (size_t rank = 0; rank < refusals.size(); ++rank) {
    if (refusals[rank].empty()) continue;
    if (mpi.rank() == 0) fmt::print(stderr, "error: rank {}: {}\n", rank, refusals[rank]);
    return kExitRequest;
  }
  int code = kExitFailed;
  try {
    const std::unique_ptr<world::MpiWorld> world = mpi.make_world();
    Progress progress(request.json ? stderr : stdout, context.environment.colour);
    code = run_work(*world, *work, request, context.interrupted, progress, nullptr);
  } catch (const RequestError& error) {
    // Every rank finds the same; one says it.
    if (mpi.rank() == 0) fmt::print(stderr, "error: {}\n", error.what());
    return kExitRequest;
  } catch (const RunError& error) {
    fmt::print(stderr, "error: rank {}: {}\n", mpi.rank(), error.what());
    return kExitFailed;
  }
  return code;
}

}  // namespace syrtos::cli
