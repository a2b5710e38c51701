#include "syrtos/cli/train_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/plan_options.h"
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
  return text;
}

std::string resume_command(const std::filesystem::path& run, const std::string& placing_options) {
  return fmt::format("syrtos train --resume {}{}", run.string(), placing_options);
}

api::TrainRequest plan_first(api::TrainRequest request, TrainOptions& options,
                             const Context& context) {
  if (context.environment.mpi_job) {
    fail_request("--auto decides how many ranks there are: leave mpirun out, or --auto");
  }
  if (!options.resume.empty()) {
    fail_request("--auto plans a new run: leave --resume out, or --auto");
  }
  const job::JobRequest& job = request.job;
  // What the user has fixed is not planned.
  const auto fixed = [&](const char* key, const std::string& value, const char* otherwise) {
    return options.sets(key) ? value : otherwise;
  };
  PlanOptions plan;
  plan.cluster = options.cluster;
  plan.hosts = options.hosts;
  plan.compute = options.compute;
  plan.replayed = !job.replay.empty();
  if (options.sets("distribute.workers")) plan.workers = std::to_string(job.workers);
  plan.exchanges = fixed("distribute.exchange", job.exchange, "");
  plan.syncs = fixed("distribute.sync", job.sync, "split");
  plan.wires = fixed("distribute.wire", job.wire, "f32");
  plan.bucket_mb = job.bucket_mb;
  const api::Planned planned = make_plan(plan, job, context, !options.json);
  const planner::Prediction& best = planned.plan.best();
  if (best.candidate.workers == 1) options.hosts.clear();
  if (!options.json) {
    fmt::print("plan: {}, {} a step, {} an epoch, {:.2f} times as fast as one host ({})\n",
               best.candidate.workers == 1
                   ? "one worker"
                   : fmt::format("{} workers, {}", best.candidate.workers, way_of(best.candidate)),
               planner::format_short_time(best.step.seconds), format_duration(best.epoch_s),
               best.speed_up, best.reason);
    std::fflush(stdout);
  }
  return api::with_way(std::move(request), best);
}

}  // namespace syrtos::cli
