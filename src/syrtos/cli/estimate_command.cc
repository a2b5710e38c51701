#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/planner/bandwidth.h"
#include "syrtos/planner/formulas.h"
#include "syrtos/report/plot.h"
#include "syrtos/train/probe.h"

namespace syrtos::cli {

namespace {

using nlohmann::json;
using planner::Bounds;
using planner::EstimateInput;

constexpr int64_t kMostPoints = 400;  // of a drawn line
constexpr double kBytesPerParameter = 4;

// Texts as they were typed: errors name the option and what was found.
struct Options {
  std::string t_grad, t_comm;
  std::string type = "sync-join";
  std::string server = "central";
  std::string workers = "8";
  std::string batches = "128";
  std::string output = "single";
  std::string to;
  bool bounds = false;
  bool json = false;
  train::ProbeOptions probe = {.network = ""};
  std::string bandwidth = "1 Gbit/s";
  const CLI::App* command = nullptr;

  bool given(const char* option) const { return command->count(option) > 0; }
};

template <typename Number>
Number parse_number(const char* option, const std::string& text, const char* expected) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && at == end) return value;
  fail_request("{}: expected {}, found '{}'", option, expected, text);
}

double parse_seconds(const char* option, const std::string& text) {
  const auto value = parse_number<double>(option, text, "seconds, such as 0.75");
  if (value > 0 && value <= planner::kMostSeconds) return value;  // NaN is neither
  fail_request(
      "{}: expected seconds above 0, at most {:g}, found '{}'; 'syrtos probe compute' "
      "measures the time of a step",
      option, planner::kMostSeconds, text);
}

int64_t parse_count(const char* option, const std::string& text, int64_t most) {
  const std::string expected = fmt::format("1 to {}", format_count(most));
  const auto value = parse_number<int64_t>(option, text, expected.c_str());
  if (value >= 1 && value <= most) return value;
  fail_request("{}: expected {}, found {}", option, expected, value);
}

/// What is asked for, checked.
struct Request {
  planner::EstimateType type;
  planner::ServerKind server;
  EstimateInput input;
  std::string source;  ///< where the times come from; empty: they were given
  bool bounds = false;

  Bounds speed_up(int64_t workers) const {
    EstimateInput at = input;
    at.workers = workers;
    return planner::speed_up(type, server, at);
  }
};

void check_output(const Options& options) {
  const std::vector<std::string> known = {"single", "csv", "plot"};
  if (std::find(known.begin(), known.end(), options.output) == known.end()) {
    fail_request("--output: unknown output '{}'{}", options.output,
                 suggestion(options.output, known));
  }
  if (options.to.empty()) {
    if (options.given("--to")) fail_request("--to: expected a file name, found ''");
    return;
  }
  if (options.given("--output") && options.output != "plot") {
    fail_request("--to writes a plot: expected --output plot or none, found '{}'", options.output);
  }
  const std::filesystem::path file = options.to;
  if (!report::can_write_chart(file)) {
    fail_request("--to: expected a name that ends with .svg or .png, found '{}'", options.to);
  }
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  std::error_code ignored;
  if (!std::filesystem::is_directory(folder, ignored)) {
    fail_request("--to: expected a directory '{}', found none; make it first", folder.string());
  }
}

void check_sources(const Options& options) {
  if (!options.given("--network")) {
    for (const char* option :
         {"--batch", "--input", "--precision", "--threads", "--seconds", "--bandwidth"}) {
      if (options.given(option)) {
        fail_request("{} belongs to --network NAME, which is missing", option);
      }
    }
    for (const char* option : {"--t-grad", "--t-comm"}) {
      if (!options.given(option)) {
        fail_request(
            "{}: expected seconds, found none; give --t-grad and --t-comm, or --network NAME to "
            "measure here",
            option);
      }
    }
  } else if (options.given("--t-grad") && options.given("--t-comm")) {
    fail_request(
        "--network measures what is missing, but --t-grad and --t-comm are both given; "
        "leave one of the three out");
  }
}

/// Fills the times that were not given from a measurement and the link.
void measure(const Options& options, const Context& context, Request& request) {
  const double bytes_per_s = planner::parse_bandwidth(options.bandwidth);
  const train::ProbeResult probe = probe_compute(options.probe, context.cpu, context.interrupted);
  if (context.interrupted()) fail_run("interrupted after {} steps", probe.steps);
  const double bytes = static_cast<double>(probe.parameters) * kBytesPerParameter;
  request.source =
      fmt::format("{}, batch {}, {}x{}x{}, {}, {} thread{}", probe.network, probe.batch,
                  probe.image[0], probe.image[1], probe.image[2], to_string(probe.precision.dtype),
                  probe.threads, probe.threads == 1 ? "" : "s");
  if (!options.given("--t-grad")) {
    request.input.t_grad = (probe.t_forward_ms + probe.t_backward_ms) / 1e3;
    request.source += fmt::format("; t_grad {:.4g} s (forward and backward, median of {} steps)",
                                  request.input.t_grad, probe.steps);
  }
  if (!options.given("--t-comm")) {
    request.input.t_comm = bytes / bytes_per_s;
    request.source += fmt::format("; t_comm {:.4g} s ({} at {})", request.input.t_comm,
                                  format_bytes(bytes), options.bandwidth);
  }
}

Request resolve(const Options& options, const Context& context) {
  check_output(options);
  check_sources(options);
  Request request = {.type = planner::parse_estimate_type(options.type),
                     .server = planner::parse_server_kind(options.server),
                     .input = {},
                     .source = {},
                     .bounds = options.bounds};
  EstimateInput& input = request.input;
  input.workers = parse_count("--workers", options.workers, planner::kMostWorkers);
  input.batches = parse_count("--batches", options.batches, planner::kMostBatches);
  if (options.given("--t-grad")) input.t_grad = parse_seconds("--t-grad", options.t_grad);
  if (options.given("--t-comm")) input.t_comm = parse_seconds("--t-comm", options.t_comm);
  if (options.given("--network")) measure(options, context, request);
  return request;
}

void print_single(const Request& request) {
  const Bounds at = request.speed_up(request.input.workers);
  if (request.bounds && has_bounds(request.server)) {
    fmt::print("best {:.4f}; estimate {:.4f}; worst {:.4f}\n", at.best, at.estimate, at.worst);
  } else {
    fmt::print("{:.4f}\n", at.estimate);
  }
}

void print_row(const Request& request, const char* name, double Bounds::*value) {
  if (name != nullptr) fmt::print("{};", name);
  for (int64_t n = 1; n <= request.input.workers; ++n) {
    fmt::print("{}{:.4f}", n > 1 ? ";" : "", request.speed_up(n).*value);
  }
  fmt::print("\n");
}

void print_csv(const Request& request) {
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

void print_json(const Request& request, bool all) {
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
int64_t fastest(const Request& request) {
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

report::Chart chart_of(const Request& request) {
  const EstimateInput& input = request.input;
  const bool band = request.bounds && has_bounds(request.server);
  report::Series line = {.name = band ? "estimate, from best to worst" : "estimate",
                         .points = {},
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

void draw(const Request& request, const Context& context) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  const report::TerminalOptions options = {
      .columns = known ? std::min<int>(size.ws_col, 110) : 80,
      .rows = known && size.ws_row > 0 ? std::clamp<int>(size.ws_row - 4, 14, 28) : 22,
      .unicode = terminal,
      .colour = terminal && context.environment.colour};
  fmt::print("{}", report::to_text(chart_of(request), options));
}

// What a reader of the numbers alone would miss; beside the output, not in it.
void print_notes(const Options& options, const Request& request) {
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

int run_estimate(Options options, const Context& context) {
  const Request request = resolve(options, context);
  if (!options.to.empty()) options.output = "plot";
  print_notes(options, request);
  if (!options.to.empty()) report::write_chart(chart_of(request), options.to);
  if (options.json) {
    print_json(request, options.output != "single");
  } else if (!options.to.empty()) {
    fmt::print("written: {}\n", options.to);
  } else if (options.output == "plot") {
    draw(request, context);
  } else if (options.output == "csv") {
    print_csv(request);
  } else {
    print_single(request);
  }
  return kExitDone;
}

void add_times(CLI::App& command, Options& options) {
  command.add_option("--t-grad", options.t_grad, "time to compute the gradients of one batch")
      ->type_name("SECONDS");
  command.add_option("--t-comm", options.t_comm, "time to move all weights once over the link")
      ->type_name("SECONDS");
  train::ProbeOptions& probe = options.probe;
  const auto group = "Times measured here instead";
  command.add_option("--network", probe.network, "t_grad: forward and backward pass of this one")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--batch", probe.batch, "its samples per batch")
      ->capture_default_str()
      ->group(group);
  command.add_option("--input", probe.input, "image size (default: the network's)")->group(group);
  command.add_option("--precision", probe.precision, "auto, f32 or bf16")
      ->capture_default_str()
      ->group(group);
  command.add_option("--threads", probe.threads, "default: all cores")->group(group);
  command.add_option("--seconds", probe.seconds, "how long to measure")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--bandwidth", options.bandwidth,
                  "t_comm: 4 bytes per parameter over a link of this speed")
      ->capture_default_str()
      ->group(group);
}

}  // namespace

void add_estimate(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("estimate", "Estimate the speed-up of several workers by formulas");
  options->command = command;
  add_times(*command, *options);
  command
      ->add_option("--type", options->type,
                   "sync-join (each worker a batch), sync-split (each a part of one) or async "
                   "(nobody waits)")
      ->capture_default_str();
  command
      ->add_option("--server", options->server,
                   "of the weights: central (one process) or distributed (a part on each worker)")
      ->capture_default_str();
  command->add_option("--workers", options->workers, "number of workers N")
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--batches", options->batches, "batches to train on in all, D")
      ->type_name("D")
      ->capture_default_str();
  command
      ->add_option("--output", options->output,
                   "single (for N workers), csv (for 1 to N, between semicolons) or plot")
      ->capture_default_str();
  command->add_flag("--bounds", options->bounds,
                    "also the best and the worst case, where the formulas have both");
  command->add_option("--to", options->to, "write the plot to this .svg or .png")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print as JSON");
  command->footer(
      "Printed is how many times faster the training is than on one worker without a server.\n"
      "Examples:\n"
      "  syrtos estimate --t-grad 0.758 --t-comm 0.033 --workers 8\n"
      "  syrtos estimate --t-grad 0.758 --t-comm 0.033 --type sync-split --output plot --bounds\n"
      "  syrtos estimate --t-grad 0.821 --t-comm 0.811 --server distributed --output csv\n"
      "  syrtos estimate --network resnet18 --batch 42 --bandwidth '10 Gbit/s' --to speed-up.svg");
  command->callback([options, &run] {
    run = [options](const Context& context) { return run_estimate(*options, context); };
  });
}

}  // namespace syrtos::cli
