#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/command.h"
#include "syrtos/cli/interrupt.h"
#include "syrtos/ops/onednn/backend.h"

namespace syrtos::cli {

namespace {

void print_error(const std::string& text) { fmt::print(stderr, "error: {}\n", text); }

// The command that the arguments led to, with its path: "syrtos probe compute".
const CLI::App* deepest(const CLI::App& app, std::string& path) {
  const CLI::App* at = &app;
  path = app.get_name();
  for (auto inner = at->get_subcommands(); !inner.empty(); inner = at->get_subcommands()) {
    at = inner.front();
    path += " " + at->get_name();
  }
  return at;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// CLI11 says that something was not expected; this says what would have been.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string path;
  const CLI::App* at = deepest(app, path);
  const std::string help = fmt::format("see '{} --help'", path);
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return fmt::format("{}; {}", error.what(), help);
  const std::string word = extra.front().substr(0, extra.front().find('='));
  if (word.starts_with("-")) {
    return fmt::format("unknown option '{}' of '{}'; {}{}", word, path,
                       did_you_mean(word, option_names(*at)), help);
  }
  if (!command_names(*at).empty()) {
    return fmt::format("unknown command '{}'{}; {}", word, suggestion(word, command_names(*at)),
                       help);
  }
  return fmt::format("'{}' takes no further argument, found '{}'; {}", path, word, help);
}

int run_chosen(const Run& chosen, std::vector<std::string> arguments) {
  try {
    catch_interrupts();
    return chosen({read_environment(), cpu_info(), interrupted, std::move(arguments)});
  } catch (const RequestError& error) {
    print_error(error.what());
    return kExitRequest;
  } catch (const std::bad_alloc&) {
    print_error("out of memory; use a smaller --batch or a smaller network");
  } catch (const std::exception& error) {
    print_error(error.what());
  }
  return kExitFailed;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("Syrtos trains deep networks on CPUs.", "syrtos");
  app.set_version_flag("--version", [] {
    return fmt::format("syrtos {} (oneDNN {})", SYRTOS_VERSION, ops::onednn::version());
  });
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.get_formatter()->column_width(34);
  app.failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
  app.footer(
      "Examples:\n"
      "  syrtos data get mnist\n"
      "  syrtos train examples/mnist-lenet5.toml\n"
      "  syrtos train --network resnet18 --data random --steps 20\n"
      "  syrtos models show resnet50\n\n"
      "Exit codes: 0 done, 1 the run failed, 2 the request was wrong.");
  Run chosen;
  add_train(app, chosen);
  add_eval(app, chosen);
  add_predict(app, chosen);
  add_models(app, chosen);
  add_data(app, chosen);
  add_probe(app, chosen);
  add_plan(app, chosen);
  add_estimate(app, chosen);
  add_explain(app, chosen);
  add_watch(app, chosen);
  add_doctor(app, chosen);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    print_error(explain(app, error));
    return kExitRequest;
  } catch (const RequestError& error) {
    print_error(error.what());
    return kExitRequest;
  }
  const int code = run_chosen(chosen, std::vector<std::string>(argv + 1, argv + argc));
  if (std::fflush(stdout) != 0 && code == kExitDone) {
    print_error("the output could not be written; is the disk full?");
    return kExitFailed;
  }
  return code;
}

}  // namespace syrtos::cli
