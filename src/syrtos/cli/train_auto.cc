// 'syrtos train --auto': plans, then trains in the best way that gives the same result.

#include <fmt/format.h>

#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/plan_request.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/plan_report.h"

namespace syrtos::cli {

namespace {

void set(TrainRequest& request, Context& context, const job::JobField& field,
         const std::string& value) {
  std::erase_if(request.fields, [&](const auto& known) { return known.first == &field; });
  request.fields.emplace_back(&field, value);
  context.arguments.insert(context.arguments.end(), {std::string(field.option), value});
}

/// What the user has fixed is not planned.
std::string fixed(const TrainRequest& request, const char* key, const std::string& value,
                  const char* otherwise) {
  return request.sets(key) ? value : otherwise;
}

}  // namespace

void plan_training(TrainRequest& request, Context& context) {
  if (!request.resume.empty()) {
    fail_request("--auto plans a new run: leave --resume out, or --auto");
  }
  const job::JobRequest job = read_job(request);
  PlanRequest plan;
  plan.cluster = request.cluster;
  plan.hosts = request.hosts;
  plan.compute = request.compute;
  plan.replayed = !job.replay.empty();
  if (request.sets("distribute.workers")) plan.workers = std::to_string(job.workers);
  plan.exchanges = fixed(request, "distribute.exchange", job.exchange, "");
  plan.syncs = fixed(request, "distribute.sync", job.sync, "split");
  plan.bucket_mb = job.bucket_mb;
  plan.wires = fixed(request, "distribute.wire", job.wire, "f32");
  const Planned planned = plan_job(plan, job, context, !request.json);
  const planner::Prediction& best = planned.plan.best();
  std::erase(context.arguments, "--auto");
  job::JobRequest way = job;
  job::apply(best.candidate.options, best.candidate.workers, way);
  for (const job::JobField& field : job::job_fields()) {
    const std::string text = field_text(way, field);
    if (text != field_text(job, field)) set(request, context, field, text);
  }
  if (best.candidate.workers == 1) request.hosts.clear();
  request.planned_step = best.step.seconds;
  context.arguments.insert(context.arguments.end(),
                           {"--planned-step", fmt::format("{:.9g}", best.step.seconds)});
  if (request.json) return;
  fmt::print("plan: {}, {} a step, {} an epoch, {:.2f} times as fast as one host ({})\n",
             best.candidate.workers == 1
                 ? "one worker"
                 : fmt::format("{} workers, {}", best.candidate.workers, way_of(best.candidate)),
             planner::format_short_time(best.step.seconds), format_duration(best.epoch_s),
             best.speed_up, best.reason);
  std::fflush(stdout);
}

PlanTruth plan_truth(const train::Outcome& outcome, double planned_step) {
  PlanTruth truth{.planned_s = planned_step};
  if (planned_step == 0 || outcome.epochs.empty()) return truth;
  // The first epoch warms up, if there are others.
  const size_t first = outcome.epochs.size() > 1 ? 1 : 0;
  const int64_t before = first > 0 ? outcome.epochs[0].step : 0;
  double seconds = 0;
  for (size_t i = first; i < outcome.epochs.size(); ++i) {
    seconds += outcome.epochs[i].seconds.training();
  }
  const int64_t steps = outcome.epochs.back().step - before;
  if (steps > 0) truth.measured_s = seconds / static_cast<double>(steps);
  return truth;
}

std::string to_text(const PlanTruth& truth) {
  const double off = 100 * (truth.measured_s / truth.planned_s - 1);
  return fmt::format(
      "planned {} a step, measured {} ({:.0f} % {})", planner::format_short_time(truth.planned_s),
      planner::format_short_time(truth.measured_s), std::abs(off), off >= 0 ? "more" : "less");
}

}  // namespace syrtos::cli
