#include "syrtos/search/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/toml.h"
#include "syrtos/job/file.h"
#include "syrtos/search/sampler.h"

namespace syrtos::search {

namespace {

/// A value as its option takes it, as a TOML file has it.
std::string toml_text(const Parameter& parameter, const std::string& value) {
  if (std::holds_alternative<std::string job::JobRequest::*>(parameter.field->member)) {
    return toml_value(value);
  }
  return parameter.is_whole() ? value : toml_value(std::stod(value));
}

std::string list_of(const Parameter& parameter, const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) {
    text += (text.empty() ? "" : ", ") + toml_text(parameter, value);
  }
  return "[" + text + "]";
}

const Parameter& find(const Space& space, const std::string& key) {
  const auto found = std::find_if(space.parameters.begin(), space.parameters.end(),
                                  [&](const Parameter& one) { return one.key() == key; });
  SYRTOS_CHECK(found != space.parameters.end(), "{}", key);
  return *found;
}

std::string to_toml(const Parameter& parameter, const Space& space) {
  std::string inside;
  if (parameter.kind == Parameter::Kind::choice) {
    inside = fmt::format("choice = {}", list_of(parameter, parameter.choices));
  } else {
    const auto number = [&](double value) {
      return parameter.is_whole() ? toml_value(static_cast<int64_t>(std::llround(value)))
                                  : toml_value(value);
    };
    inside = fmt::format("{} = [{}, {}]", parameter.kind == Parameter::Kind::log ? "log" : "range",
                         number(parameter.low), number(parameter.high));
    if (parameter.points > 0) inside += fmt::format(", points = {}", parameter.points);
  }
  std::string when;
  for (const Condition& condition : parameter.when) {
    when += fmt::format("{}{} = {}", when.empty() ? "" : ", ", condition.key,
                        list_of(find(space, condition.key), condition.values));
  }
  if (!when.empty()) inside += fmt::format(", when = {{ {} }}", when);
  return fmt::format("{} = {{ {} }}\n", parameter.key(), inside);
}

void check(const Settings& settings) {
  parse_sampler(settings.sampler);
  const auto least = [](std::string_view option, double value, double lowest) {
    if (!(value >= lowest)) {
      fail_request("{}: expected {} or more, found {}", option, lowest, value);
    }
  };
  least("--trials", static_cast<double>(settings.trials), 0);
  least("--total-epochs", static_cast<double>(settings.total_epochs), 0);
  least("--hours", settings.hours, 0);
  least("--first-epochs", static_cast<double>(settings.first_epochs), 1);
  least("--attempts", static_cast<double>(settings.attempts), 1);
  if (settings.halving != 0 && settings.halving < 2) {
    fail_request("--halving: expected 2 or more (one of so many goes on), or 0 for none, found {}",
                 settings.halving);
  }
  if (settings.hopeless != "none" && settings.hopeless != "median") {
    fail_request("--hopeless: expected none or median, found '{}'{}", settings.hopeless,
                 suggestion(settings.hopeless, {"none", "median"}));
  }
}

void check_halving(const Plan& plan) {
  const auto searched = [&](std::string_view key) {
    return std::any_of(plan.space.parameters.begin(), plan.space.parameters.end(),
                       [&](const Parameter& one) { return one.field->key == key; });
  };
  if (plan.job.steps > 0 || searched("epochs") || searched("steps")) {
    fail_request(
        "--halving: it compares trials after the same number of epochs, found {}: give --epochs "
        "alone, for all trials",
        plan.job.steps > 0 ? "--steps" : "epochs or steps in [space]");
  }
  if (plan.job.evaluate_every != 1 || searched("evaluate.every")) {
    fail_request(
        "--halving: expected --evaluate-every 1, since trials are compared by every epoch");
  }
  if (plan.epochs() <= plan.settings.first_epochs) {
    fail_request(
        "--halving: expected more --epochs than the {} after which the first trials are chosen "
        "(--first-epochs), found {}",
        plan.settings.first_epochs, plan.epochs());
  }
}

}  // namespace

std::vector<SettingField> setting_fields() {
  return {
      {"sampler", "--sampler",
       "where to look: grid (every combination), random, quasi (evenly spread), tpe (near what was "
       "good so far)",
       &Settings::sampler},
      {"trials", "--trials", "number of trials (default: all of a grid, else 20)",
       &Settings::trials, true},
      {"total_epochs", "--total-epochs", "end when all trials together have so many; 0: no limit",
       &Settings::total_epochs, true},
      {"hours", "--hours", "end after so many hours; 0: no limit", &Settings::hours, true},
      {"halving", "--halving",
       "stop all but the best of so many trials after --first-epochs, and so on: 3 or 4; 0: none",
       &Settings::halving},
      {"first_epochs", "--first-epochs", "epochs until halving chooses for the first time",
       &Settings::first_epochs},
      {"hopeless", "--hopeless",
       "median: end trials whose best is below the median of the others' at the same epoch",
       &Settings::hopeless},
      {"attempts", "--attempts", "times that a trial is begun whose process or host is lost",
       &Settings::attempts, true},
  };
}

void set(Settings& settings, const SettingField& field, const std::string& text) {
  if (const auto* member = std::get_if<std::string Settings::*>(&field.member)) {
    settings.** member = text;
    return;
  }
  const auto parse = [&](auto value, const char* kind) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail_request("{}: expected {}, found '{}'", field.option, kind, text);
    }
    return value;
  };
  if (const auto* whole = std::get_if<int64_t Settings::*>(&field.member)) {
    settings.** whole = parse(int64_t{0}, "a whole number");
  } else {
    settings.*std::get<double Settings::*>(field.member) = parse(double{0}, "a number");
  }
}

std::string text_of(const Settings& settings, const SettingField& field) {
  return std::visit([&](const auto member) { return fmt::format("{}", settings.*member); },
                    field.member);
}

job::JobRequest Plan::job_at(const Point& point) const {
  job::JobRequest result = job;
  apply(point, result);
  return result;
}

int64_t Plan::epochs() const { return job.epochs == job::kUnset ? 1 : job.epochs; }

std::vector<int64_t> Plan::rungs() const {
  std::vector<int64_t> rungs;
  if (settings.halving > 0) {
    for (int64_t at = settings.first_epochs; at < epochs(); at *= settings.halving) {
      rungs.push_back(at);
    }
  }
  rungs.push_back(epochs());
  return rungs;
}

std::string to_toml(const Plan& plan) {
  std::string text = job::to_toml(plan.job) + "\n[space]\n";
  for (const Parameter& parameter : plan.space.parameters) {
    text += to_toml(parameter, plan.space);
  }
  text += "\n[search]\n";
  for (const SettingField& field : setting_fields()) {
    const std::string value = std::visit(
        [&](const auto member) { return toml_value(plan.settings.*member); }, field.member);
    text += fmt::format("{} = {}\n", field.key, value);
  }
  return text;
}

const run::Metric& Plan::metric() const {
  // What is open is decided when the data is known, before the search begins.
  const run::Metric* found = run::find_metric(job.metric == "auto" ? "accuracy" : job.metric);
  if (found != nullptr) return *found;
  std::vector<std::string> known;
  for (const run::Metric& metric : run::metrics()) known.emplace_back(metric.name);
  fail_request("unknown metric '{}'{}", job.metric, suggestion(job.metric, known));
}

double grid_size(const Plan& plan) {
  double size = 1;
  for (const Parameter& parameter : plan.space.parameters) {
    const int64_t values = parameter.points > 0 ? parameter.points : parameter.values();
    size *= values == 0 ? INFINITY : static_cast<double>(values);
  }
  return size;
}

void check(const Plan& plan) {
  check(plan.settings);
  plan.metric();
  if (plan.space.parameters.empty()) {
    fail_request(
        "[space] is empty: expected options and what they may be, such as\n"
        "  [space]\n"
        "  optimizer.lr = {{ log = [0.001, 0.3] }}\n"
        "  batch = [32, 64, 128]");
  }
  if (plan.job.evaluate_every == 0) {
    fail_request(
        "--evaluate-every 0: expected 1 or more, since trials are compared by what they "
        "come to on the test data");
  }
  if (plan.settings.halving > 0) check_halving(plan);
  if (parse_sampler(plan.settings.sampler) == SamplerKind::grid) grid_points(plan);  // may refuse
}

}  // namespace syrtos::search
