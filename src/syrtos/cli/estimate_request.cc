#include "syrtos/cli/estimate_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/formulas.h"
#include "syrtos/report/plot.h"

namespace syrtos::cli {

namespace {

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

void check_output_options(const EstimateOptions& options) {
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

void check_sources(const EstimateOptions& options) {
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

}  // namespace

api::Estimate resolve(const EstimateOptions& options, const Context& context) {
  check_output_options(options);
  check_sources(options);
  api::Estimate request = {.type = planner::parse_estimate_type(options.type),
                           .server = planner::parse_server_kind(options.server),
                           .input = {},
                           .source = {},
                           .bounds = options.bounds};
  planner::EstimateInput& input = request.input;
  input.workers = parse_count("--workers", options.workers, planner::kMostWorkers);
  input.batches = parse_count("--batches", options.batches, planner::kMostBatches);
  if (options.given("--t-grad")) input.t_grad = parse_seconds("--t-grad", options.t_grad);
  if (options.given("--t-comm")) input.t_comm = parse_seconds("--t-comm", options.t_comm);
  if (options.given("--network")) {
    const api::EstimateProbe probe{.probe = options.probe,
                                   .bandwidth = options.bandwidth,
                                   .t_grad = !options.given("--t-grad"),
                                   .t_comm = !options.given("--t-comm")};
    measure(probe, surroundings(context), request);
  }
  return request;
}

}  // namespace syrtos::cli
