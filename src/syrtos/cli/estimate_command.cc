#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/format.h"
#include "syrtos/cli/draw.h"
#include "syrtos/cli/estimate_request.h"
#include "syrtos/report/plot.h"

namespace syrtos::cli {

namespace {

using nlohmann::json;
using planner::Bounds;
using planner::EstimateInput;

constexpr int64_t kMostPoints = 400;  // of a drawn line

void print_single(const EstimateRequest& request) {
  const Bounds at = request.speed_up(request.input.workers);
  if (request.bounds && has_bounds(request.server)) {
    fmt::print("best {:.4f}; estimate {:.4f}; worst {:.4f}\n", at.best, at.estimate, at.worst);
  } else {
    fmt::print("{:.4f}\n", at.estimate);
  }
}

void print_row(const EstimateRequest& request, const char* name, double Bounds::*value) {
  if (name != nullptr) fmt::print("{};", name);
  for (int64_t n = 1; n <= request.input.workers; ++n) {
    fmt::print("{}{:.4f}", n > 1 ? ";" : "", request.speed_up(n).*value);
  }
  fmt::print("\n");
}

void print_csv(const EstimateRequest& request) {
  if (!request.bounds || !has_bounds(request.server)) {
    print_row(request, nullptr, &Bounds::estimate);
    return;
  }
  print_row(request, "best", &Bounds::best);
  print_row(request, "estimate", &Bounds::estimate);
  print_row(request, "worst", &Bounds::worst);
}

json to_json(const Bounds& bounds) {
  return {{"best", bounds.best}, {"estimate", bounds.estimate}, {"worst", bounds.worst}};
}

void print_json(const EstimateRequest& request, bool all) {
  const EstimateInput& input = request.input;
  json result = {
      {"type", to_string(request.type)},
      {"server", to_string(request.server)},
      {"t_grad_s", input.t_grad},
      {"t_comm_s", input.t_comm},
      {"workers", input.workers},
      {"batches", input.batches},
      {"seconds", to_json(planner::training_seconds(request.type, request.server, input))},
      {"speed_up", to_json(request.speed_up(input.workers))}};
  if (!request.source.empty()) result["source"] = request.source;
  if (all) {
    json& list = result["speed_ups"] = json::array();
    for (int64_t n = 1; n <= input.workers; ++n) list.push_back(to_json(request.speed_up(n)));
  }
  fmt::print("{}\n", result.dump());
}

/// Which number of workers has the largest estimate; of equal ones the smallest.
int64_t fastest(const EstimateRequest& request) {
  int64_t best = 1;
  double most = 0;
  for (int64_t n = 1; n <= request.input.workers; ++n) {
    const double at = request.speed_up(n).estimate;
    if (at > most * (1 + 1e-12)) {
      best = n;
      most = at;
    }
  }
  return best;
}

report::Chart chart_of(const EstimateRequest& request) {
  const EstimateInput& input = request.input;
  const bool band = request.bounds && has_bounds(request.server);
  report::Series line = {.name = band ? "estimate, from best to worst" : "estimate",
                         .spread = report::Spread::band};
  const int64_t points = std::min(input.workers, kMostPoints);
  for (int64_t i = 0; i < points; ++i) {
    const int64_t n = points == 1 ? 1 : 1 + i * (input.workers - 1) / (points - 1);
    const Bounds at = request.speed_up(n);
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
                                              to_string(request.type), to_string(request.server)),
                         .x = {.label = "workers", .whole = true},
                         .y = {.label = "times faster than one worker", .from = 0},
                         .series = {line, alone},
                         .notes = {}};
  const int64_t best = fastest(request);
  chart.notes.push_back(fmt::format(
      "t_grad {:.4g} s, t_comm {:.4g} s, {} batch{}; fastest with {} worker{}: {:.4f}",
      input.t_grad, input.t_comm, format_count(input.batches), input.batches == 1 ? "" : "es",
      format_count(best), best == 1 ? "" : "s", request.speed_up(best).estimate));
  if (!request.source.empty()) chart.notes.push_back(request.source);
  return chart;
}

// What a reader of the numbers alone would miss; beside the output, not in it.
void print_notes(const EstimateOptions& options, const EstimateRequest& request) {
  const EstimateInput& input = request.input;
  const bool drawn = options.output == "plot" && options.to.empty() && !options.json;
  if (!request.source.empty() && !drawn) fmt::print(stderr, "{}\n", request.source);
  if (request.bounds && !has_bounds(request.server)) {
    fmt::print(stderr, "note: a distributed server has one formula, so no best and worst\n");
  }
  if (request.type == planner::EstimateType::async && input.batches < input.workers) {
    fmt::print(stderr,
               "note: {} batches for {} workers; the formulas are meant for at least one batch "
               "per worker\n",
               format_count(input.batches), format_count(input.workers));
  }
}

int run_estimate(EstimateOptions options, const Context& context) {
  const EstimateRequest request = resolve(options, context);
  if (!options.to.empty()) options.output = "plot";
  print_notes(options, request);
  if (!options.to.empty()) report::write_chart(chart_of(request), options.to);
  if (options.json) {
    print_json(request, options.output != "single");
  } else if (!options.to.empty()) {
    fmt::print("written: {}\n", options.to);
  } else if (options.output == "plot") {
    draw(chart_of(request), context);
  } else if (options.output == "csv") {
    print_csv(request);
  } else {
    print_single(request);
  }
  return kExitDone;
}

void add_times(Command command, EstimateOptions& options) {
  command.add_option("--t-grad", options.t_grad, "time to compute the gradients of one batch")
      .type_name("SECONDS");
  command.add_option("--t-comm", options.t_comm, "time to move all weights once over the link")
      .type_name("SECONDS");
  api::ProbeRequest& probe = options.probe;
  const auto group = "Times measured here instead";
  command.add_option("--network", probe.network, "t_grad: forward and backward pass of this one")
      .type_name("NAME")
      .group(group);
  command.add_option("--batch", probe.batch, "its samples per batch").show_default().group(group);
  command.add_option("--input", probe.input, "image size (default: the network's)").group(group);
  command.add_option("--precision", probe.precision, "auto, f32 or bf16")
      .show_default()
      .group(group);
  command.add_option("--threads", probe.threads, "default: all cores").group(group);
  command.add_option("--seconds", probe.seconds, "how long to measure").show_default().group(group);
  command
      .add_option("--bandwidth", options.bandwidth,
                  "t_comm: 4 bytes per parameter over a link of this speed")
      .show_default()
      .group(group);
}

}  // namespace

void add_estimate(Command app, Run& run) {
  auto options = std::make_shared<EstimateOptions>();
  Command command =
      app.add_subcommand("estimate", "Estimate the speed-up of several workers by formulas");
  options->given = [command](const char* option) { return command.given(option); };
  add_times(command, *options);
  command
      .add_option("--type", options->type,
                  "sync-join (each worker a batch), sync-split (each a part of one) or async "
                  "(nobody waits)")
      .show_default();
  command
      .add_option("--server", options->server,
                  "of the weights: central (one process) or distributed (a part on each worker)")
      .show_default();
  command.add_option("--workers", options->workers, "number of workers N")
      .type_name("N")
      .show_default();
  command.add_option("--batches", options->batches, "batches to train on in all, D")
      .type_name("D")
      .show_default();
  command
      .add_option("--output", options->output,
                  "single (for N workers), csv (for 1 to N, between semicolons) or plot")
      .show_default();
  command.add_flag("--bounds", options->bounds,
                   "also the best and the worst case, where the formulas have both");
  command.add_option("--to", options->to, "write the plot to this .svg or .png").type_name("FILE");
  command.add_flag("--json", options->json, "print as JSON");
  command.footer(
      "Printed is how many times faster the training is than on one worker without a server.\n"
      "Examples:\n"
      "  syrtos estimate --t-grad 0.758 --t-comm 0.033 --workers 8\n"
      "  syrtos estimate --t-grad 0.758 --t-comm 0.033 --type sync-split --output plot --bounds\n"
      "  syrtos estimate --t-grad 0.821 --t-comm 0.811 --server distributed --output csv\n"
      "  syrtos estimate --network resnet18 --batch 42 --bandwidth '10 Gbit/s' --to speed-up.svg");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_estimate(*options, context); };
  });
}

}  // namespace syrtos::cli
