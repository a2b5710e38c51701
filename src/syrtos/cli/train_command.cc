#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/parallel.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/train_request.h"
#include "syrtos/job/file.h"
#include "syrtos/job/reference.h"
#include "syrtos/job/resolve.h"
#include "syrtos/launch/invitation.h"

namespace syrtos::cli {

using trace::Part;
using train::Outcome;

namespace {

nlohmann::json to_json(const Outcome& outcome, const run::Directory& directory) {
  nlohmann::json epochs = nlohmann::json::array();
  for (const train::EpochMetrics& metrics : outcome.epochs) epochs.push_back(to_json(metrics));
  const char* end = outcome.end == Outcome::End::complete        ? "complete"
                    : outcome.end == Outcome::End::stopped_early ? "stopped early"
                                                                 : "interrupted";
  nlohmann::json text = {{"run", directory.path().string()},
                         {"end", end},
                         {"step", outcome.position.step},
                         {"seconds", outcome.seconds},
                         {"epochs", epochs}};
  for (const auto& [stale, pushes] : outcome.staleness) {
    text["staleness"][std::to_string(stale)] = pushes;
  }
  if (!outcome.staleness.empty()) text["dropped"] = outcome.dropped;
  return text;
}

void print_staleness(const Outcome& outcome) {
  int64_t all = 0;
  for (const auto& [stale, pushes] : outcome.staleness) all += pushes;
  if (all == 0) return;
  std::string text;
  for (const auto& [stale, pushes] : outcome.staleness) {
    text += fmt::format("{}{}: {:.1f} %", text.empty() ? "" : ", ", stale,
                        100.0 * static_cast<double>(pushes) / static_cast<double>(all));
  }
  if (outcome.dropped > 0) {
    text += fmt::format("; dropped, because they came too late: {:.1f} %",
                        100.0 * static_cast<double>(outcome.dropped) / static_cast<double>(all));
  }
  fmt::print("staleness (updates between pull and push): {}\n", text);
}

const char* type_name_of(const job::JobField& field) {
  return field.type == "path" ? "PATH" : field.type.ends_with("number") ? "NUMBER" : "TEXT";
}

/// "what it means: one of a, b, c (default: b)".
std::string help_of(const job::JobField& field) {
  const std::string values =
      field.type.starts_with("one of ") ? fmt::format(": {}", field.type) : "";
  const std::string text = field.default_text();
  return fmt::format("{}{}{}", field.help, values,
                     text.empty() ? "" : fmt::format(" (default: {})", text));
}

/// --trace alone means all steps; the parser says "true" then.
std::string trace_text(const std::string& text) {
  return text.empty() || text == "true" ? "all" : text;
}

int run_train(TrainRequest request, Context context) {
  if (request.automatic && request.join.empty()) {
    if (context.environment.mpi_job) {
      fail_request("--auto decides how many ranks there are: leave mpirun out, or --auto");
    }
    plan_training(request, context);
  }
  job::JobRequest job = read_job(request);
  if (!request.join.empty()) return train_as_rank(request, std::move(job), context);
  if (context.environment.mpi_job) return train_under_mpi(request, std::move(job), context);
  check_page(request);
  if (is_distributed(job) || !request.hosts.empty()) {
    return launch_training(request, job, context);
  }
  job::Job resolved = job::resolve(job, context.cpu, context.environment.cache_home);
  const ThreadScope threads(resolved.threads);
  train::TrainerOptions options = trainer_options(resolved, request, context);
  train::Trainer trainer(std::move(resolved), 0, std::move(options));
  open_run(trainer, request);
  const auto page = show_page(request, trainer.directory().path());
  Progress progress(request.json ? stderr : stdout, context.environment.colour);
  const Outcome outcome = trainer.run_alone(progress, context.interrupted);
  progress.clear();
  return report(outcome, trainer.directory(), request);
}

}  // namespace

train::TrainerOptions trainer_options(const job::Job& job, const TrainRequest& request,
                                      const Context& context) {
  const ThreadScope threads(job.threads);
  return {.planned_step_s = request.planned_step,
          .machine = train::machine_of(context.cpu, context.environment.cache_home)};
}

bool TrainRequest::sets(std::string_view key) const {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const auto& field) { return field.first->key == key; });
}

job::JobRequest read_job(const TrainRequest& request) {
  job::JobRequest job;
  if (!request.resume.empty()) {
    const auto run = run::Directory::open_to_resume(request.resume);
    if (!request.job_file.empty()) {
      fail_request("--resume goes on with the job of {}: leave {} out", request.resume,
                   request.job_file);
    }
    job::read_job_file(job, run.file(run::File::job));
    // Chosen for the exchange that it was then.
    if (request.sets("distribute.exchange") || request.sets("distribute.sync")) job.update = "auto";
  } else if (!request.job_file.empty()) {
    job::read_job_file(job, request.job_file);
  }
  const int64_t workers = job.workers;
  for (const auto& [field, text] : request.fields) {
    if (!request.resume.empty() && !field->may_change) {
      fail_request(
          "{} cannot change when a run goes on: only --epochs, --steps, --threads and how the work "
          "is distributed can",
          field->option);
    }
    job::set_field(job, *field, text, field->option);
  }
  // Another number of workers divides the cores anew.
  if (!request.resume.empty() && job.workers != workers && !request.sets("threads"))
    job.threads = 0;
  return job;
}

void open_run(train::Trainer& trainer, const TrainRequest& request) {
  if (request.resume.empty()) {
    trainer.begin();
  } else {
    trainer.resume(request.resume);
  }
}

std::string resume_command(const std::filesystem::path& run, const TrainRequest& request) {
  std::string command = fmt::format("syrtos train --resume {}", run.string());
  // The run knows how many workers it had, but not where they were.
  if (!request.hosts.empty()) command += fmt::format(" --hosts {}", request.hosts);
  if (!request.launcher.empty()) command += fmt::format(" --launcher {}", request.launcher);
  if (request.remote_shell != TrainRequest().remote_shell) {
    command += fmt::format(" --remote-shell '{}'", request.remote_shell);
  }
  return command;
}

int report(const Outcome& outcome, const run::Directory& directory, const TrainRequest& request) {
  const bool interrupted = outcome.end == Outcome::End::interrupted;
  if (request.json) {
    nlohmann::json text = to_json(outcome, directory);
    if (request.planned_step > 0) {
      const PlanTruth truth = plan_truth(outcome, request.planned_step);
      text["plan"] = {{"step", truth.planned_s}, {"measured_step", truth.measured_s}};
    }
    fmt::print("{}\n", text.dump());
    return interrupted ? kExitFailed : kExitDone;
  }
  if (interrupted) {
    fmt::print(stderr,
               "interrupted after step {} (epoch {}), the position is saved; go on with:\n"
               "  {}\n",
               outcome.position.step, outcome.position.epoch + 1,
               resume_command(directory.path(), request));
    return kExitFailed;
  }
  const train::EpochMetrics& last = outcome.epochs.back();
  trace::StepDivision parts;
  for (const train::EpochMetrics& epoch : outcome.epochs) parts += epoch.seconds;
  const auto percent = [&](Part part) { return 100 * parts[part] / parts.sum(); };
  const bool several = !last.workers.empty();
  fmt::print(
      "time{}: load {:.1f} %, forward {:.1f} %, backward {:.1f} %, update {:.1f} %, {}evaluation "
      "{:.1f} %, checkpoints {:.1f} %, other {:.1f} %\n",
      several ? " of rank 0" : "", percent(Part::load), percent(Part::forward),
      percent(Part::backward), percent(Part::update),
      several ? fmt::format("network {:.1f} %, waiting {:.1f} %, ", percent(Part::network),
                            percent(Part::wait))
              : "",
      percent(Part::evaluate), percent(Part::checkpoint), percent(Part::other));
  print_staleness(outcome);
  if (request.planned_step > 0) {
    fmt::print("{}\n", to_text(plan_truth(outcome, request.planned_step)));
  }
  fmt::print("{} in {}: test accuracy {:.2f} %; {}\n",
             outcome.end == Outcome::End::stopped_early ? "stopped early" : "done",
             format_duration(outcome.seconds), 100 * last.test_accuracy, directory.best().string());
  return kExitDone;
}

void add_train(Command app, Run& run) {
  auto request = std::make_shared<TrainRequest>();
  Command command = app.add_subcommand("train", "Train a network");
  command.add_option("JOB", request->job_file, "job file (TOML); options override it")
      .type_name("");
  command.add_option("--resume", request->resume, "go on with this run").type_name("RUN");
  for (const job::JobField& field : job::job_fields()) {
    const job::JobField* at = &field;
    Option option = command
                        .add_option(
                            std::string(field.option),
                            [request, at](const std::string& text) {
                              request->fields.emplace_back(
                                  at, at->key == "measure.trace" ? trace_text(text) : text);
                            },
                            help_of(field))
                        .type_name(type_name_of(field))
                        .group(job::section_title(field.section()));
    if (field.key == "measure.trace") option.values(0, 1).type_name("[steps=A..B]");
  }
  command.add_option("--hosts", request->hosts, "file of hosts: NAME [slots=N] [address=A]")
      .type_name("FILE");
  command.add_option("--launcher", request->launcher,
                     "local, ssh or mpi (default: ssh with --hosts, else local)");
  command.add_option("--remote-shell", request->remote_shell,
                     "what reaches a host like 'ssh HOST COMMAND' does");
  command.add_option(launch::kJoinOption, request->join).hidden();  // for ranks' processes
  command.add_flag("--auto", request->automatic,
                   "plan first ('syrtos plan'), then train in the best way; split unless --sync "
                   "says otherwise, so that the result is that of training alone");
  command
      .add_option("--cluster", request->cluster,
                  "for --auto: profile of 'syrtos probe network', or \"8 hosts, 1 Gbit/s, 60 us\"")
      .type_name("FILE|TEXT");
  command
      .add_option("--compute", request->compute, "for --auto: computing times (default: measured)")
      .type_name("FILE");
  command.add_option("--planned-step", request->planned_step).hidden();  // for ranks' processes
  command.add_option("--web", request->web, "show how it goes on a page, at this port or any")
      .values(0, 1)
      .alone_means("0")
      .type_name("[PORT]");
  command.add_flag("--json", request->json, "print the result as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos train examples/mnist-lenet5.toml --epochs 2\n"
      "  syrtos train --network mnist-cnn --optimizer adam --lr 0.001 --schedule cosine\n"
      "  syrtos train --network resnet18 --input 32 --data random --steps 20 --precision f32\n"
      "  syrtos train --network lenet5 --data cifar10 --augment crop:4,flip --epochs 20\n"
      "  syrtos train examples/mnist-lenet5.toml --workers 2 --sync split\n"
      "  syrtos train job.toml --workers 8 --hosts hosts.txt --exchange allreduce:ring\n"
      "  syrtos train job.toml --workers 4 --hosts hosts.txt --exchange ps-sharded:2 --sync async\n"
      "  syrtos train examples/mnist-lenet5.toml --workers 2 --exchange shared --sync async\n"
      "  syrtos train job.toml --auto --hosts hosts.txt --cluster cluster.toml\n"
      "  syrtos train examples/mnist-lenet5.toml --trace steps=100..110\n"
      "  mpirun -n 4 syrtos train job.toml\n"
      "  syrtos train --resume runs/lenet5-20260101-120000 --workers 3");
  command.callback([request, &run] {
    run = [request](const Context& context) { return run_train(*request, context); };
  });
}

}  // namespace syrtos::cli
