#include "syrtos/cli/train_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/plan_options.h"
#include "syrtos/cli/plan_words.h"
#include "syrtos/job/file.h"
#include "syrtos/planner/units.h"

namespace syrtos::cli {

bool TrainOptions::sets(std::string_view key) const {
  return std::any_of(fields.begin(), fields.end(),
                     [&](const api::Change& change) { return change.first->key == key; });
}

job::JobRequest read_job(const TrainOptions& options) {
  if (!options.resume.empty()) {
    if (!options.job_file.empty()) {
      fail_request("--resume goes on with the job of {}: leave {} out", options.resume,
                   options.job_file);
    }
    return api::request_to_resume(options.resume, options.fields);
  }
  if (options.force) {
    fail_request("--force takes over a run that another process has: give --resume RUN too");
  }
  job::JobRequest request;
  if (!options.job_file.empty()) job::read_job_file(request, options.job_file);
  api::apply(options.fields, request);
  return request;
}

std::string placing_options(const TrainOptions& options) {
  std::string text;
  if (!options.hosts.empty()) text += fmt::format(" --hosts {}", options.hosts);
  if (!options.launcher.empty()) text += fmt::format(" --launcher {}", options.launcher);
  if (options.remote_shell != TrainOptions().remote_shell) {
    text += fmt::format(" --remote-shell '{}'", options.remote_shell);
  }
  if (options.installed) text += " --installed";
  return text;
}

std::string resume_command(const std::filesystem::path& run, const std::string& placing_options) {
  return fmt::format("syrtos train --resume {}{}", run.string(), placing_options);
}

namespace {

/// What the user has fixed, in options or in the job file, is not planned.
PlanOptions plan_options_of(const job::JobRequest& job, const TrainOptions& options) {
  const job::JobRequest plain;
  const auto fixed = [&](const char* key, const std::string& value, const std::string& usual,
                         const char* otherwise) {
    return options.sets(key) || value != usual ? value : otherwise;
  };
  PlanOptions plan;
  plan.cluster = options.cluster;
  plan.hosts = options.hosts;
  plan.compute = options.compute;
  plan.replayed = !job.replay.empty();
  if (plan.compute.empty()) plan.compute = job.replay;
  if (options.sets("distribute.workers") || job.workers > 1) {
    plan.workers = std::to_string(job.workers);
  }
  plan.exchanges = fixed("distribute.exchange", job.exchange, plain.exchange, "");
  plan.syncs = fixed("distribute.sync", job.sync, plain.sync, "split");
  plan.wires = fixed("distribute.wire", job.wire, plain.wire, "f32");
  plan.splits = fixed("distribute.split", job.split, plain.split, "");
  plan.pipelines = fixed("distribute.pipeline", job.pipeline, plain.pipeline, "");
  plan.bucket_mb = job.bucket_mb;
  if (!plan.cluster.empty() && plan.hosts.empty() &&
      planner::cluster_of(plan.cluster).hosts.size() > 1) {
    fail_request(
        "--cluster {}: --auto trains on the hosts that it plans for: name them with --hosts FILE, "
        "or leave --cluster out to use this machine alone ('syrtos plan' plans without hosts)",
        plan.cluster);
  }
  return plan;
}

/// With --split auto alone all that was asked for stays, and so does the number of workers.
void plan_parts_alone(const job::JobRequest& job, const TrainOptions& options, PlanOptions& plan) {
  const bool given = options.sets("distribute.workers") || job.workers > 1;
  if (!given && options.hosts.empty()) {
    fail_request("--split auto: in parts for how many workers? Give --workers N or --hosts HOSTS");
  }
  if (given) plan.workers = fmt::format("1,{}", job.workers);
  plan.exchanges = job.exchange;
  plan.syncs = job.sync;
  plan.wires = job.wire;
}

/// The best way that has the network in parts.
const planner::Prediction& best_in_parts(const planner::Plan& plan) {
  for (const planner::Prediction& way : plan.ranked) {
    if (way.candidate.options.split.cuts()) return way;
  }
  fail_request(
      "--split auto: no cut was found that fits: fewer --workers, a --batch that more "
      "micro-batches "
      "divide, or --exchange allreduce with --sync join or split");
}

}  // namespace

bool plans_parts(const job::JobRequest& job, const TrainOptions& options) {
  return job.split == "auto" && options.resume.empty();
}

api::TrainRequest plan_first(api::TrainRequest request, TrainOptions& options,
                             const Context& context) {
  if (!context.environment.mpi.empty()) {
    fail_request("--auto decides how many ranks there are: leave mpirun out, or --auto");
  }
  if (!options.resume.empty()) {
    fail_request("--auto plans a new run: leave --resume out, or --auto");
  }
  PlanOptions plan = plan_options_of(request.job, options);
  if (!options.automatic) plan_parts_alone(request.job, options, plan);
  if (!options.compute.empty()) request.job = planned_job(options, plan);
  const api::Planned planned = make_plan(plan, request.job, context, !options.json);
  const planner::Prediction& best =
      options.automatic ? planned.plan.best() : best_in_parts(planned.plan);
  const PlanWords words(options, plan, planned);
  options.hosts = words.hosts_for(best);
  if (!options.json) {
    fmt::print("plan: {}, {} a step, {} an epoch, {:.2f} times as fast as one host ({})\n",
               best.candidate.workers == 1
                   ? "one worker"
                   : fmt::format("{} workers, {}", best.candidate.workers, way_of(best.candidate)),
               planner::format_short_time(best.step.seconds), format_duration(best.epoch_s),
               best.speed_up, best.reason);
    if (best.candidate.workers > 1) fmt::print("  {}\n", words.command_for(best));
    for (const std::string& note : planned.plan.notes) fmt::print("note: {}\n", note);
    std::fflush(stdout);
  }
  return api::with_way(std::move(request), best);
}

}  // namespace syrtos::cli
