#include "syrtos/cli/parser.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/job/synonyms.h"

namespace syrtos::cli {

namespace {

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

std::string value_text(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type == "UINT") return "a whole number of 0 or more";
  if (type == "INT") return "a whole number";
  if (type == "FLOAT") return "a number";
  return type.empty() || type == "TEXT" ? "a value" : type;
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
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());  // others are hidden
  }
  return names;
}

/// What CLI11 found, as all our messages say it: expected, found.
std::string expectation(const CLI::App& at, const CLI::ParseError& error) {
  std::string text = error.what();
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && text.ends_with("missing")) {
    const size_t colon = text.find(": ");
    const CLI::Option* option = at.get_option_no_throw(text.substr(0, colon));
    return fmt::format("{}: expected {}, found nothing", text.substr(0, colon),
                       option == nullptr ? "a value" : value_text(*option));
  }
  constexpr std::string_view kNotConverted = "Could not convert: ";
  if (text.starts_with(kNotConverted)) {  // "Could not convert: --top = x"
    const std::string rest = text.substr(kNotConverted.size());
    const size_t equals = rest.find(" = ");
    const CLI::Option* option = at.get_option_no_throw(rest.substr(0, equals));
    return fmt::format("{}: expected {}, found '{}'", rest.substr(0, equals),
                       option == nullptr ? "another value" : value_text(*option),
                       equals == std::string::npos ? "" : rest.substr(equals + 3));
  }
  if (text == "A subcommand is required") {
    return fmt::format("expected one of {}, found nothing", fmt::join(command_names(at), ", "));
  }
  return text;
}

// CLI11 says that something was not expected; this says what would have been.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  std::string path;
  const CLI::App* at = deepest(app, path);
  const std::string help = fmt::format("see '{} --help'", path);
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return fmt::format("{}; {}", expectation(*at, error), help);
  const std::string word = extra.front().substr(0, extra.front().find('='));
  if (word.starts_with("-")) {
    const std::vector<std::string> known = option_names(*at);
    const job::JobField* meant = job::field_called(word);
    const bool has_it =
        meant != nullptr && std::find(known.begin(), known.end(), meant->option) != known.end();
    return fmt::format(
        "unknown option '{}' of '{}'; {}{}", word, path,
        has_it ? fmt::format("did you mean '{}'? ", meant->option) : did_you_mean(word, known),
        help);
  }
  if (!command_names(*at).empty()) {
    return fmt::format("unknown command '{}'{}; {}", word, suggestion(word, command_names(*at)),
                       help);
  }
  return fmt::format("'{}' takes no further argument, found '{}'; {}", path, word, help);
}

std::vector<CLI::App*> commands_without_further(CLI::App& app) {
  const std::vector<CLI::App*> inner = app.get_subcommands({});
  if (inner.empty()) return {&app};
  std::vector<CLI::App*> all;
  for (CLI::App* command : inner) {
    for (CLI::App* last : commands_without_further(*command)) all.push_back(last);
  }
  return all;
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::show_default() {
  option_->capture_default_str();
  return *this;
}

Option& Option::group(const std::string& heading) {
  option_->group(heading);
  return *this;
}

Option& Option::hidden() { return group(""); }

Option& Option::values(int least, int most) {
  option_->expected(least, most);
  return *this;
}

Option& Option::alone_means(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Option& Option::take_all() {
  option_->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return *this;
}

Option& Option::delimiter(char between) {
  option_->delimiter(between);
  return *this;
}

Option& Option::positive() {
  option_->check([](const std::string& text) {
    double value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value > 0;
    return good ? std::string() : fmt::format("expected a number above 0, found '{}'", text);
  });
  return *this;
}

Option& Option::range(int64_t least, int64_t most) {
  option_->check([=](const std::string& text) {
    int64_t value = 0;
    const bool good = CLI::detail::lexical_cast(text, value) && value >= least && value <= most;
    return good ? std::string()
                : fmt::format("expected a whole number from {} to {}, found '{}'", least, most,
                              text);
  });
  return *this;
}

Command Command::add_subcommand(const std::string& name, const std::string& help) {
  return Command(app_->add_subcommand(name, help));
}

void Command::hidden() { app_->group(""); }

Option Command::add_option(const std::string& name, std::string& to, const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, std::filesystem::path& to,
                           const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, int& to, const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, int64_t& to, const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, size_t& to, const std::string& help) {
  CLI::Option* option = app_->add_option(name, to, help);
  option->check([](const std::string& text) {  // which would become a very large one
    return text.starts_with('-')
               ? fmt::format("expected a whole number of 0 or more, found '{}'", text)
               : std::string();
  });
  return Option(option);
}

Option Command::add_option(const std::string& name, double& to, const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, std::vector<std::string>& to,
                           const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, std::vector<int64_t>& to,
                           const std::string& help) {
  return Option(app_->add_option(name, to, help));
}

Option Command::add_option(const std::string& name, std::function<void(const std::string&)> to,
                           const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, to, help));
}

Option Command::add_flag(const std::string& name, bool& to, const std::string& help) {
  return Option(app_->add_flag(name, to, help));
}

void Command::require_subcommand(size_t least, size_t most) {
  app_->require_subcommand(least, most);
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::callback(std::function<void()> when_chosen) {
  app_->callback(std::move(when_chosen));
}

bool Command::has_chosen_subcommand() const { return !app_->get_subcommands().empty(); }

bool Command::given(const std::string& option) const { return app_->count(option) > 0; }

Parser::Parser(const std::string& name, const std::string& description,
               std::function<std::string()> version)
    : app_(std::make_unique<CLI::App>(description, name)) {
  app_->set_version_flag("--version", std::move(version));
  app_->require_subcommand(1);
  app_->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app_->get_formatter()->column_width(34);
  app_->failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
}

Parser::~Parser() = default;

Command Parser::program() { return Command(app_.get()); }

void Parser::add_counter_everywhere(const std::string& name, int& to, const std::string& help) {
  for (CLI::App* command : commands_without_further(*app_)) command->add_flag(name, to, help);
}

bool Parser::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    return true;
  } catch (const CLI::Success& help) {
    app_->exit(help);
    return false;
  } catch (const CLI::ParseError& error) {
    throw RequestError(explain(*app_, error));
  }
}

}  // namespace syrtos::cli
