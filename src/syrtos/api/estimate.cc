#include "syrtos/api/estimate.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/base/counted.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"

namespace syrtos::api {

namespace {

using nlohmann::json;
using planner::Bounds;
using planner::EstimateInput;

constexpr int64_t kMostPoints = 400;  // of a drawn line
constexpr double kBytesPerParameter = 4;

json bounds_json(const Bounds& bounds) {
  return {{"best", bounds.best}, {"estimate", bounds.estimate}, {"worst", bounds.worst}};
}

}  // namespace

Bounds Estimate::speed_up(int64_t workers) const {
  EstimateInput at = input;
  at.workers = workers;
  return planner::speed_up(type, server, at);
}

int64_t Estimate::fastest() const {
  int64_t best = 1;
  double most = 0;
  for (int64_t n = 1; n <= input.workers; ++n) {
    const double at = speed_up(n).estimate;
    if (at > most * (1 + 1e-12)) {
      best = n;
      most = at;
    }
  }
  return best;
}

void measure(const EstimateProbe& request, const Surroundings& surroundings, Estimate& estimate) {
  const double bytes_per_s = planner::parse_bandwidth(request.bandwidth, "--bandwidth");
  if (!(bytes_per_s > 0)) {
    fail_request("--bandwidth: expected more than 0, found '{}'", request.bandwidth);
  }
  const ProbeWork work = resolve(request.probe, surroundings);
  const train::ProbeResult probe =
      probe_compute(work.network, work.options, surroundings.should_stop);
  if (surroundings.should_stop()) fail_run("interrupted after {} steps", probe.steps);
  const double bytes = static_cast<double>(probe.parameters) * kBytesPerParameter;
  estimate.source =
      fmt::format("{}, batch {}, {}x{}x{}, {}, {} thread{}", probe.network, probe.batch,
                  probe.image[0], probe.image[1], probe.image[2], to_string(probe.precision.dtype),
                  probe.threads, probe.threads == 1 ? "" : "s");
  if (request.t_grad) {
    estimate.input.t_grad = (probe.t_forward_ms + probe.t_backward_ms) / 1e3;
    estimate.source += fmt::format("; t_grad {:.4g} s (forward and backward, median of {})",
                                   estimate.input.t_grad, counted(probe.steps, "step"));
  }
  if (request.t_comm) {
    estimate.input.t_comm = bytes / bytes_per_s;
    estimate.source += fmt::format("; t_comm {:.4g} s ({} at {})", estimate.input.t_comm,
                                   format_bytes(bytes), request.bandwidth);
  }
}

report::Chart chart_of(const Estimate& estimate) {
  const EstimateInput& input = estimate.input;
  const bool band = estimate.bounds && has_bounds(estimate.server);
  report::Series line = {.name = band ? "estimate, from best to worst" : "estimate",
                         .spread = report::Spread::band};
  const int64_t points = std::min(input.workers, kMostPoints);
  for (int64_t i = 0; i < points; ++i) {
    const int64_t n = points == 1 ? 1 : 1 + i * (input.workers - 1) / (points - 1);
    const Bounds at = estimate.speed_up(n);
    report::Point point = {static_cast<double>(n), at.estimate};
    if (band) {  // with fewer batches than workers they may have changed places
      point.low = std::min(at.worst, at.best);
      point.high = std::max(at.worst, at.best);
    }
    line.points.push_back(point);
  }
  const report::Series alone = {.name = "one worker alone",
                                .points = {{line.points.front().x, 1}, {line.points.back().x, 1}},
                                .line = report::LineStyle::dashed,
                                .guide = true};
  report::Chart chart = {.title = fmt::format("Estimated speed-up, {}, {} server",
                                              to_string(estimate.type), to_string(estimate.server)),
                         .x = {.label = "workers", .whole = true},
                         .y = {.label = "times faster than one worker", .from = 0},
                         .series = {line, alone},
                         .notes = {}};
  const int64_t best = estimate.fastest();
  chart.notes.push_back(fmt::format(
      "t_grad {:.4g} s, t_comm {:.4g} s, {} batch{}; fastest with {} worker{}: {:.4f}",
      input.t_grad, input.t_comm, format_count(input.batches), input.batches == 1 ? "" : "es",
      format_count(best), best == 1 ? "" : "s", estimate.speed_up(best).estimate));
  if (!estimate.source.empty()) chart.notes.push_back(estimate.source);
  return chart;
}

json to_json(const Estimate& estimate, bool all) {
  const EstimateInput& input = estimate.input;
  json result = {
      {"type", to_string(estimate.type)},
      {"server", to_string(estimate.server)},
      {"t_grad_s", input.t_grad},
      {"t_comm_s", input.t_comm},
      {"workers", input.workers},
      {"batches", input.batches},
      {"seconds", bounds_json(planner::training_seconds(estimate.type, estimate.server, input))},
      {"speed_up", bounds_json(estimate.speed_up(input.workers))}};
  if (!estimate.source.empty()) result["source"] = estimate.source;
  if (all) {
    json& list = result["speed_ups"] = json::array();
    for (int64_t n = 1; n <= input.workers; ++n) list.push_back(bounds_json(estimate.speed_up(n)));
  }
  return result;
}

}  // namespace syrtos::api
