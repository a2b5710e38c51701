#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>

#include "syrtos/api/launch.h"
#include "syrtos/api/rank.h"
#include "syrtos/api/run_network.h"
#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/process_age.h"
#include "syrtos/cli/interrupt.h"
#include "syrtos/cli/job_options.h"
#include "syrtos/cli/page.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/train_options.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/progress/observer_thread.h"

namespace syrtos::cli {

namespace fs = std::filesystem;

namespace {

std::string chosen_launcher(const TrainOptions& options) {
  std::string name = !options.launcher.empty() ? options.launcher
                     : options.hosts.empty()   ? "local"
                                               : "ssh";
  if (name != "local" && name != "ssh" && name != "mpi") {
    fail_request("--launcher: expected local, ssh or mpi, found '{}'", name);
  }
  if (name == "ssh" && options.hosts.empty()) {
    fail_request("--launcher ssh: which hosts? Give --hosts FILE, one name per line");
  }
  if (name == "local" && !options.hosts.empty()) {
    fail_request(
        "--launcher local starts processes on this machine: leave --hosts out, or use ssh");
  }
  return name;
}

/// 'syrtos train' with what was decided here, for processes that do not get it from a launcher.
std::vector<std::string> train_command(const api::TrainRequest& request,
                                       const TrainOptions& options, const Context& context) {
  std::vector<std::string> words = own_command(context, {"train"});
  const job::JobRequest plain;
  for (const job::JobField& field : job::job_fields()) {
    const std::string text = field_text(request.job, field);
    const bool says_something = text != field_text(plain, field);
    if (!says_something || (!options.resume.empty() && !field.may_change)) continue;
    if (field.key == "distribute.workers") continue;  // as many as there are ranks
    words.insert(words.end(), {std::string(field.option), text});
  }
  if (!options.resume.empty()) words.insert(words.end(), {"--resume", options.resume});
  if (options.force) words.push_back("--force");
  if (!options.web.empty()) words.insert(words.end(), {"--web", options.web});
  if (request.planned_step_s > 0) {
    words.insert(words.end(), {"--planned-step", fmt::format("{:.9g}", request.planned_step_s)});
  }
  if (options.json) words.push_back("--json");
  return words;
}

/// Becomes mpirun, which starts this program again as its ranks.
[[noreturn]] void become_mpirun(const api::TrainRequest& request, const TrainOptions& options,
                                const Context& context) {
  const job::Job job = job::resolve(request.job, context.cpu, context.environment.cache_home,
                                    api::own_of(request, request.job));  // may refuse
  const int ranks = strategy::team_of(job.strategy, job.workers).ranks();
  std::vector<std::string> words = {"mpirun", "-n", std::to_string(ranks)};
  if (!options.hosts.empty()) {
    std::string list;
    for (const launch::Host& host : launch::read_hosts(options.hosts)) {
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host.name, host.slots);
    }
    words.insert(words.end(), {"--host", list});
  } else {
    words.push_back("--oversubscribe");
  }
  if (geteuid() == 0) words.push_back("--allow-run-as-root");
  for (std::string& word : train_command(request, options, context)) {
    words.push_back(std::move(word));
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execvp("mpirun", pointers.data());
  fail_request("--launcher mpi: mpirun cannot be started: {}; is Open MPI installed?",
               std::strerror(errno));
}

/// What can be done after a run has failed; empty: nothing is there to go on with.
std::string resume_hint(const fs::path& run, const TrainOptions& options) {
  const auto directory = run::Directory::at(run);
  if (!directory.has(run::File::job)) return {};
  return fmt::format("{}; go on with:\n  {}\n",
                     directory.has(run::File::last_checkpoint)
                         ? fmt::format("the last checkpoint is {}", directory.last().string())
                         : "no checkpoint was written yet (see --checkpoint-every)",
                     resume_command(run, placing_options(options)));
}

/// The hosts of the scheduler's job that this process is in, unless something else was asked for.
std::optional<launch::Allocation> allocation_for(const TrainOptions& options,
                                                 const Context& context) {
  if (!options.hosts.empty() || !options.launcher.empty() || options.automatic) return {};
  auto allocation = launch::find_allocation(context.environment.scheduler);
  if (allocation && !options.json) {
    const size_t hosts = allocation->hosts.size();
    fmt::print("{} job {}: {} host{} ({})\n", allocation->scheduler, allocation->job, hosts,
               hosts == 1 ? "" : "s", launch::list_slots(allocation->hosts));
    std::fflush(stdout);
  }
  return allocation;
}

int launch(const api::TrainRequest& request, const TrainOptions& options,
           const std::optional<launch::Allocation>& allocation, const Context& context) {
  if (chosen_launcher(options) == "mpi") become_mpirun(request, options, context);
  api::RankPrograms programs;
  programs.command = own_command(context, {"rank"});
  if (options.json) programs.command.push_back("--json");
  if (const std::string placing = placing_options(options); !placing.empty()) {
    programs.command.insert(programs.command.end(), {"--placing", placing});
  }
  programs.program = host_program(context, options.installed);
  programs.hosts = options.hosts;
  programs.allocation = allocation;
  programs.remote_shell = options.remote_shell;
  programs.replace_lost = !options.no_replace;
  programs.columns = launch::terminal_columns();
  Page page(options.web);
  const api::Launched launched = api::launch_training(request, programs, surroundings(context),
                                                      [&](const fs::path& run) { page.show(run); });
  for (const world::Rank rank : launched.end.lost) {
    fmt::print(stderr, "the run went on without rank {}, which was lost\n", rank);
  }
  if (!launched.end.failure.empty()) {
    fmt::print(stderr, "error: {}\n{}", launched.end.failure,
               launched.end.code == kExitFailed ? resume_hint(launched.run, options) : "");
  }
  return launched.end.code;
}

int train_under_mpi(const api::TrainRequest& request, const TrainOptions& options,
                    const Context& context) {
  int code = kExitDone;
  Page page(options.web);
  api::RankHooks hooks;
  hooks.observer = [&] {
    return std::make_unique<Progress>(
        ProgressPlace{.out = options.json ? stderr : stdout, .may_be_file = true});
  };
  hooks.finished = [&](const api::Trained& trained) {
    code = report(trained, request.planned_step_s,
                  resume_command(trained.run, placing_options(options)), options.json);
  };
  hooks.aborting = [](const std::string& why) {
    fmt::print(stderr, "error: {}\n", why);
    std::fflush(stderr);
  };
  api::train_under_mpi(request, options.sets("distribute.workers"), surroundings(context), hooks,
                       [&](const fs::path& run) { page.show(run); });
  return code;
}

int train_as_started(const api::TrainRequest& request, const launch::StartedRank& started,
                     const TrainOptions& options, const Context& context) {
  if (!options.hosts.empty() || !options.launcher.empty()) {
    fail_request("{} has started the ranks: leave --hosts and --launcher out", started.by);
  }
  if (const std::string note = started.note(); started.rank == 0 && !note.empty()) {
    fmt::print(stderr, "note: {}\n", note);
  }
  int code = kExitDone;
  Page page(started.rank == 0 ? options.web : "");
  api::RankHooks hooks;
  hooks.observer = [&] {
    return std::make_unique<Progress>(
        ProgressPlace{.out = options.json ? stderr : stdout, .may_be_file = true});
  };
  hooks.finished = [&](const api::Trained& trained) {
    code = report(trained, request.planned_step_s,
                  resume_command(trained.run, placing_options(options)), options.json);
  };
  fs::path run = request.resume;
  try {
    api::train_as_started_rank(request, started, options.sets("distribute.workers"),
                               surroundings(context), hooks, end_process,
                               [&](const fs::path& made) { page.show(run = made); });
  } catch (const RunError& error) {
    fmt::print(stderr, "error: rank {}: {}\n{}", started.rank, error.what(),
               run.empty() ? "" : resume_hint(run, options));
    return kExitFailed;
  }
  return code;
}

int train_here(const api::TrainRequest& request, const TrainOptions& options,
               const Context& context) {
  Page page(options.web);
  Progress progress({.out = options.json ? stderr : stdout, .colour = context.environment.colour});
  const api::Trained trained = [&] {
    train::ObserverThread told(progress);  // a terminal may stand still, training does not
    return api::train(request, surroundings(context), told,
                      [&](const fs::path& run) { page.show(run); });
  }();
  progress.clear();
  return report(trained, request.planned_step_s,
                resume_command(trained.run, placing_options(options)), options.json);
}

[[noreturn]] void fail_not_one_process(std::string_view found) {
  fail_request(
      "--exchange shared: the workers are threads of one process, found {}: leave it out, or use "
      "--exchange ps",
      found);
}

int run_train(TrainOptions options, const Context& context) {
  outlive_readers();
  const double asked = wall_clock() - process_age();
  const bool goes_on = goes_on_as_ensemble(options);
  if (goes_on || options.ensemble != 0) check_ensemble_options(options, context);
  if (goes_on) return train_ensemble({}, options, context);
  api::TrainRequest request{.job = read_job(options),
                            .resume = options.resume,
                            .claim = {.force = options.force},
                            .planned_step_s = options.planned_step};
  request.asked = asked;
  if (options.ensemble != 0) return train_ensemble(request, options, context);
  if (options.slots != 0 || !options.combine.empty() || !options.together.empty()) {
    fail_request("{} is for --ensemble N: give that too, or leave it out",
                 options.slots != 0         ? "--slots"
                 : !options.combine.empty() ? "--combine"
                                            : "--together");
  }
  if (!options.launcher.empty()) chosen_launcher(options);  // refuses unknown ones
  const bool plans = options.automatic || plans_parts(request.job, options);
  if (!plans && !(options.cluster.empty() && options.compute.empty())) {
    fail_request(
        "{} is for the plan of --auto or --split auto: give one of them too, or leave it out",
        options.cluster.empty() ? "--compute" : "--cluster");
  }
  if (options.installed && options.hosts.empty()) {
    fail_request("--installed is for --hosts: name the hosts, or leave it out");
  }
  if (plans) request = plan_first(std::move(request), options, context);
  if (!context.environment.mpi.empty()) return train_under_mpi(request, options, context);
  if (const auto started = launch::find_started_rank(context.environment.scheduler)) {
    return train_as_started(request, *started, options, context);
  }
  Page::check(options.web);
  const strategy::Exchange exchange = strategy::parse_exchange(request.job.exchange);
  if (exchange.shares_memory()) {
    if (!options.hosts.empty()) fail_not_one_process("--hosts");
    if (!options.launcher.empty()) fail_not_one_process("--launcher");
    return train_here(request, options, context);
  }
  const std::optional<launch::Allocation> allocation = allocation_for(options, context);
  const bool hosts = allocation || !options.hosts.empty();
  if (hosts && !options.sets("distribute.workers") && !plans) {
    request.job = api::fill_hosts(
        std::move(request.job), allocation ? allocation->hosts : launch::read_hosts(options.hosts));
  }
  const bool several = request.job.workers > 1 || exchange.uses_servers();
  return several || hosts ? launch(request, options, allocation, context)
                          : train_here(request, options, context);
}

}  // namespace

void add_train(Command app, Run& run) {
  auto options = std::make_shared<TrainOptions>();
  Command command = app.add_subcommand("train", "Train a network");
  command.add_option("JOB", options->job_file, "job file (TOML); options override it")
      .type_name("");
  command.add_option("--resume", options->resume, "go on with this run").type_name("RUN");
  command.add_flag("--force", options->force,
                   "with --resume: take the run over from a process that has it, which stops");
  const auto take = [options](const job::JobField& field, const std::string& text) {
    options->fields.emplace_back(&field, text);
  };
  for (const job::JobField& field : job::job_fields()) add_job_option(command, field, take);
  command
      .add_option("--hosts", options->hosts, "hosts: a,b:2,c or a file, NAME [slots=N] [address=A]")
      .type_name("HOSTS");
  command.add_flag("--installed", options->installed,
                   "with --hosts: use what is installed there at the same path, also where this "
                   "program is a package, which could be copied");
  command.add_option("--launcher", options->launcher,
                     "local, ssh or mpi (default: ssh with --hosts, else local)");
  command.add_option("--remote-shell", options->remote_shell,
                     "what reaches a host like 'ssh HOST COMMAND' does");
  command.add_flag("--no-replace", options->no_replace,
                   "workers that were lost are not started again");
  command.add_flag("--auto", options->automatic,
                   "plan first ('syrtos plan'), then train in the best way; split unless --sync "
                   "says otherwise, so that the result is that of training alone");
  command
      .add_option("--cluster", options->cluster,
                  "for --auto: profile of 'syrtos probe network', or \"8 hosts, 1 Gbit/s, 60 us\"")
      .type_name("FILE|TEXT");
  command
      .add_option("--compute", options->compute, "for --auto: computing times (default: measured)")
      .type_name("FILE");
  command.add_option("--planned-step", options->planned_step).hidden();  // for --launcher mpi
  command
      .add_option("--ensemble", options->ensemble,
                  "train so many networks that differ in their seeds and answer together")
      .positive()
      .type_name("N");
  command
      .add_option(
          "--together", options->together,
          "with --ensemble: all members side by side in one program (yes), each as a run of "
          "its own (no), or what trains more samples in a second here (auto, default)")
      .type_name("auto|yes|no");
  command
      .add_option(
          "--combine", options->combine,
          "with --ensemble: mean of probabilities (default), vote, or weights that are learnt")
      .type_name("TEXT");
  command.add_option("--slots", options->slots,
                     "with --ensemble: members trained at once (default: what is fastest)");
  command.add_option("--web", options->web, "show how it goes on a page, at this port or any")
      .values(0, 1)
      .alone_means("0")
      .type_name("[PORT]");
  command.add_flag("--json", options->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos train examples/mnist-lenet5.toml --epochs 2\n"
      "  syrtos train --network mnist-cnn --optimizer adam --lr 0.001 --schedule cosine\n"
      "  syrtos train --network resnet18 --input 32 --data random --steps 20 --precision f32\n"
      "  syrtos train --network model.onnx --data flowers/ --epochs 5 --lr 0.001\n"
      "  syrtos train --network lenet5 --data cifar10 --augment crop:4,flip --epochs 20\n"
      "  syrtos train examples/mnist-lenet5.toml --workers 2 --sync split\n"
      "  syrtos train job.toml --workers 8 --hosts hosts.txt --exchange allreduce:ring\n"
      "  syrtos train job.toml --workers 4 --hosts hosts.txt --exchange ps-sharded:2 --sync async\n"
      "  syrtos train examples/mnist-lenet5.toml --workers 2 --exchange shared --sync async\n"
      "  syrtos train job.toml --auto --hosts hosts.txt --cluster cluster.toml\n"
      "  syrtos train examples/mnist-lenet5.toml --trace steps=100..110\n"
      "  syrtos train examples/mnist-lenet5.toml --ensemble 5\n"
      "  mpirun -n 4 syrtos train job.toml\n"
      "  syrtos train --resume runs/lenet5-20260101-120000 --workers 3");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_train(*options, context); };
  });
}

}  // namespace syrtos::cli
