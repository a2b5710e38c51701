#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/api/explain.h"
#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/output_file.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/explain_compare.h"
#include "syrtos/report/html_page.h"

namespace syrtos::cli {

namespace {

struct ExplainOptions {
  std::vector<std::string> runs;
  std::string by = "layer";
  size_t top = 6;
  std::string html;
  bool json = false;
};

report::ExplainTextOptions text_options(const ExplainOptions& options, const Context& context) {
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

void write_page(const std::string& file, const nlohmann::json& data) {
  AtomicFile page(file);
  page.write(report::html_page(data));
  page.commit();
}

int explain_several(const ExplainOptions& options, const Context& context) {
  const report::ExplainTextOptions text = text_options(options, context);
  const auto [runs, comparison] = api::compare({options.runs.begin(), options.runs.end()});
  if (!options.html.empty()) {
    write_page(options.html, report::comparison_json(runs, comparison));
  }
  if (options.json) {
    print_json(report::compare_json(runs, comparison));
  } else {
    fmt::print("{}", report::compare_text(runs, comparison, text));
    if (!options.html.empty()) fmt::print("written: {}\n", options.html);
  }
  return kExitDone;
}

int run_explain(const ExplainOptions& options, const Context& context) {
  if (!options.html.empty()) check_file_to_write("--html", options.html);
  if (options.runs.size() > 1) return explain_several(options, context);
  const report::ExplainTextOptions text = text_options(options, context);
  const auto [run, explanation] = api::explain(options.runs.at(0));
  if (!options.html.empty()) write_page(options.html, report::page_json(run, explanation));
  if (options.json) {
    print_json(report::explain_json(run, explanation));
  } else {
    fmt::print("{}", report::explain_text(run, explanation, text));
    if (!options.html.empty()) fmt::print("written: {}\n", options.html);
  }
  return kExitDone;
}

}  // namespace

void add_explain(Command app, Run& run) {
  auto options = std::make_shared<ExplainOptions>();
  Command command =
      app.add_subcommand("explain", "Say where a run's time went, why, and what to do about it");
  command
      .add_option("RUN", options->runs, "run directory; further ones are compared with the first")
      .type_name("")
      .required()
      .values(1, 26);
  command.add_option("--by", options->by, "operators by layer, kind or phase").show_default();
  command.add_option("--top", options->top, "operators to show").show_default();
  command.add_option("--html", options->html, "also write a page with charts, in one file")
      .type_name("FILE");
  command.add_flag("--json", options->json, "print everything as JSON");
  command.footer(
      "Examples:\n"
      "  syrtos explain runs/resnet18-20260714-101500\n"
      "  syrtos explain runs/resnet18-20260714-101500 --by kind --top 20\n"
      "  syrtos explain runs/resnet18-20260714-101500 --html why.html\n"
      "  syrtos explain runs/before runs/after\n"
      "  syrtos explain runs/a runs/b runs/c --html compared.html");
  command.callback([options, &run] {
    run = [options](const Context& context) { return run_explain(*options, context); };
  });
}

}  // namespace syrtos::cli
