#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/counted.h"
#include "syrtos/cli/draw.h"
#include "syrtos/cli/estimate_request.h"
#include "syrtos/planner/formulas.h"
#include "syrtos/report/plot.h"

namespace syrtos::cli {

namespace {

using planner::Bounds;
using planner::EstimateInput;

void print_single(const api::Estimate& request) {
  const Bounds at = request.speed_up(request.input.workers);
  if (request.bounds && has_bounds(request.server)) {
    fmt::print("best {:.4f}; estimate {:.4f}; worst {:.4f}\n", at.best, at.estimate, at.worst);
  } else {
    fmt::print("{:.4f}\n", at.estimate);
  }
}

void print_row(const api::Estimate& request, const char* name, double Bounds::*value) {
  if (name != nullptr) fmt::print("{};", name);
  for (int64_t n = 1; n <= request.input.workers; ++n) {
    fmt::print("{}{:.4f}", n > 1 ? ";" : "", request.speed_up(n).*value);
  }
  fmt::print("\n");
}

void print_csv(const api::Estimate& request) {
  if (!request.bounds || !has_bounds(request.server)) {
    print_row(request, nullptr, &Bounds::estimate);
    return;
  }
  print_row(request, "best", &Bounds::best);
  print_row(request, "estimate", &Bounds::estimate);
  print_row(request, "worst", &Bounds::worst);
}

// What a reader of the numbers alone would miss; beside the output, not in it.
void print_notes(const EstimateOptions& options, const api::Estimate& request) {
  const EstimateInput& input = request.input;
  const bool drawn = options.output == "plot" && options.to.empty() && !options.json;
  if (!request.source.empty() && !drawn) fmt::print(stderr, "{}\n", request.source);
  if (request.bounds && !has_bounds(request.server)) {
    fmt::print(stderr, "note: a distributed server has one formula, so no best and worst\n");
  }
  if (request.type == planner::EstimateType::async && input.batches < input.workers) {
    fmt::print(stderr,
               "note: {} for {}; the formulas are meant for at least one batch "
               "per worker\n",
               counted(input.batches, "batch", "batches"), counted(input.workers, "worker"));
  }
}

int run_estimate(EstimateOptions options, const Context& context) {
  const api::Estimate request = resolve(options, context);
  if (!options.to.empty()) options.output = "plot";
  print_notes(options, request);
  if (!options.to.empty()) report::write_chart(chart_of(request), options.to);
  if (options.json) {
    fmt::print("{}\n", to_json(request, options.output != "single").dump());
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
