#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/cli/command.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/run_reader.h"

namespace syrtos::cli {

namespace {

struct Options {
  std::vector<std::string> runs;
  std::string by = "layer";
  size_t top = 6;
  bool json = false;
};

report::ExplainTextOptions text_options(const Options& options, const Context& context) {
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return {.columns = known ? std::min<int>(size.ws_col, 120) : 100,
          .colour = terminal && context.environment.colour,
          .unicode = terminal,
          .by = report::parse_group_by(options.by),
          .top = options.top};
}

void print_json(const nlohmann::json& text) {
  fmt::print("{}\n", text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

int run_explain(const Options& options, const Context& context) {
  const report::ExplainTextOptions text = text_options(options, context);
  const report::Run run = report::read_run(options.runs.at(0));
  const report::Explanation explanation = report::explain(run);
  if (options.json) {
    print_json(report::explain_json(run, explanation));
  } else {
    fmt::print("{}", report::explain_text(run, explanation, text));
  }
  return kExitDone;
}

}  // namespace

void add_explain(CLI::App& app, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("explain", "Say where a run's time went, why, and what to do about it");
  command->add_option("RUN", options->runs, "run directory; a second one is compared with it")
      ->type_name("")
      ->required()
      ->expected(1, 2);
  command->add_option("--by", options->by, "operators by layer, kind or phase")
      ->capture_default_str();
  command->add_option("--top", options->top, "operators to show")->capture_default_str();
  command->add_flag("--json", options->json, "print everything as JSON");
  command->footer(
      "Examples:\n"
      "  syrtos explain runs/resnet18-20260714-101500\n"
      "  syrtos explain runs/resnet18-20260714-101500 --by kind --top 20");
  command->callback([options, &run] {
    run = [options](const Context& context) { return run_explain(*options, context); };
  });
}

}  // namespace syrtos::cli
