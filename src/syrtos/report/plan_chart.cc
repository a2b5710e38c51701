#include <fmt/format.h>

#include <algorithm>

#include "syrtos/planner/formulas.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/plan_report.h"

namespace syrtos::report {

using planner::Candidate;
using planner::ClusterProfile;
using planner::Plan;
using planner::Prediction;
using planner::Workload;

namespace {

double workers_of(const Prediction& prediction) {
  return static_cast<double>(prediction.candidate.workers);
}

Series curve_of(const planner::Curve& curve, const Plan& plan) {
  Series series{.name = curve.name};
  for (const Prediction& prediction : curve.points) {
    Point point{workers_of(prediction), prediction.speed_up};
    if (prediction.high_s > prediction.low_s) {
      point.low = plan.alone.epoch_s / prediction.high_s;
      point.high = plan.alone.epoch_s / prediction.low_s;
    }
    series.points.push_back(point);
  }
  return series;
}

/// No exchange of this kind is faster: computing, or the bytes on the wire.
Series bound_of(const Prediction& best, const Plan& plan, const Workload& workload,
                const ClusterProfile& cluster, int most) {
  Series series{.name = "bound", .line = LineStyle::dashed, .markers = false, .guide = true};
  for (int n = 1; n <= most; ++n) {
    Candidate candidate = best.candidate;
    candidate.workers = n;
    if (!fits(cluster, candidate)) break;
    if (n % candidate.options.split.parts != 0) continue;
    const auto steps = static_cast<double>(steps_per_epoch(workload, candidate));
    const double epoch = steps * bound_seconds(workload, cluster, candidate);
    series.points.push_back({static_cast<double>(n), plan.alone.epoch_s / epoch});
  }
  return series;
}

/// The closed formula for the kind of way that the best one is, with all that crosses at once.
Series formula_of(const Prediction& best, const Workload& workload, const ClusterProfile& cluster,
                  int most) {
  const planner::EstimateType type = planner::estimate_type_of(best.candidate.options.sync);
  const planner::ServerKind server = best.candidate.servers() > 0
                                         ? planner::ServerKind::central
                                         : planner::ServerKind::distributed;
  planner::EstimateInput input;
  input.t_grad = workload.compute.pass_of(workload.batch, workload.accumulate).seconds;
  input.t_comm = static_cast<double>(workload.compute.elements()) *
                 best.candidate.options.wire.bytes_per_element() /
                 link_of(cluster, best.candidate.workers).bytes_per_s;
  input.batches = std::max<int64_t>(1, workload.samples / workload.batch);
  Series series{.name = fmt::format("formula ({}, {} server)", to_string(type), to_string(server)),
                .line = LineStyle::dashed,
                .markers = false};
  for (int n = 1; n <= most; ++n) {
    input.workers = n;
    series.points.push_back(
        {static_cast<double>(n), planner::speed_up(type, server, input).estimate});
  }
  return series;
}

}  // namespace

Chart plan_chart(const Plan& plan, const Workload& workload, const ClusterProfile& cluster) {
  Chart chart{
      .title = fmt::format("{}: speed-up on {}", workload.compute.network, cluster_text(cluster)),
      .x = {.label = "workers", .from = 1, .whole = true},
      .y = {.label = "times as fast as one host", .from = 0}};
  const Prediction* best = plan.best().candidate.workers > 1 ? &plan.best() : nullptr;
  const bool recommended = best != nullptr;
  int most = 1;
  for (const Prediction& prediction : plan.ranked) {
    if (prediction.candidate.workers == 1) continue;
    if (best == nullptr) best = &prediction;
    most = std::max(most, prediction.candidate.workers);
  }
  for (const planner::Curve& curve : plan.curves) chart.series.push_back(curve_of(curve, plan));
  if (best != nullptr) {
    chart.series.push_back(formula_of(*best, workload, cluster, most));
    chart.series.push_back(bound_of(*best, plan, workload, cluster, most));
    chart.notes.push_back(
        fmt::format("{}: {} with {} workers, {:.2f}; bound and formula are of this way",
                    recommended ? "recommended" : "fastest, not recommended",
                    way_of(best->candidate), best->candidate.workers, best->speed_up));
  }
  chart.notes.push_back(fmt::format("one host: {} a step with a batch of {}",
                                    planner::format_short_time(plan.alone.step.seconds),
                                    workload.batch));
  return chart;
}

}  // namespace syrtos::report
