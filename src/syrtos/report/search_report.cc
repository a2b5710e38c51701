#include "syrtos/report/search_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "syrtos/base/counted.h"
#include "syrtos/base/format.h"
#include "syrtos/search/conduct.h"

namespace syrtos::report {

using nlohmann::json;
using search::Ledger;
using search::Parameter;
using search::Plan;
using search::Score;
using search::Trial;
using search::TrialState;

namespace {

struct Sample {
  int group = 0;
  double value = 0;
};

/// What lies between the groups against all of it, less what chance would give: adjusted R squared.
double explained(const std::vector<Sample>& samples) {
  std::map<int, std::pair<double, double>> groups;  // sum, count
  double mean = 0;
  for (const Sample& one : samples) {
    groups[one.group].first += one.value;
    groups[one.group].second += 1;
    mean += one.value;
  }
  const auto n = static_cast<double>(samples.size());
  const auto k = static_cast<double>(groups.size());
  if (k < 2 || n <= k) return 0;
  mean /= n;
  double all = 0;
  double within = 0;
  for (const Sample& one : samples) {
    const auto& [sum, count] = groups[one.group];
    all += (one.value - mean) * (one.value - mean);
    within += (one.value - sum / count) * (one.value - sum / count);
  }
  if (all <= 0) return 0;
  return std::clamp(1 - (within / (n - k)) / (all / (n - 1)), 0.0, 1.0);
}

/// The groups of a parameter's values: each choice is one, numbers are four of equal size.
std::vector<Sample> grouped(const Parameter& parameter,
                            const std::vector<std::pair<std::string, double>>& values) {
  constexpr size_t kGroups = 4;
  std::vector<double> places;
  for (const auto& [text, value] : values) places.push_back(parameter.place_of(text));
  std::vector<double> sorted = places;
  std::sort(sorted.begin(), sorted.end());
  const auto different = std::set<double>(sorted.begin(), sorted.end()).size();
  const bool by_value = parameter.kind == Parameter::Kind::choice || different <= kGroups;
  std::vector<Sample> samples;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto rank = std::lower_bound(sorted.begin(), sorted.end(), places[i]) - sorted.begin();
    const int group = by_value
                          ? static_cast<int>(rank)
                          : static_cast<int>(static_cast<size_t>(rank) * kGroups / sorted.size());
    samples.push_back({group, values[i].second});
  }
  return samples;
}

std::string state_text(const Trial& trial) {
  if (trial.state == TrialState::done) return std::string(search::to_string(trial.end));
  return std::string(search::to_string(trial.state));
}

json trial_json(const search::Directory& directory, const Trial& trial) {
  const Ledger& ledger = directory.ledger();
  json scores = json::array();
  for (const Score& score : trial.scores) scores.push_back({score.epoch, score.value, score.at});
  json text = {{"trial", trial.number}, {"state", state_text(trial)},
               {"values", trial.point}, {"epochs", trial.epoch},
               {"scores", scores},      {"seconds", trial.seconds},
               {"host", trial.host},    {"run", directory.trial(trial.number).string()}};
  if (const auto best = ledger.best_of(trial)) {
    text["best"] = best->value;
    text["best_epoch"] = best->epoch;
  }
  if (trial.lost > 0) text["lost"] = trial.lost;
  if (!trial.message.empty()) text["message"] = trial.message;
  return text;
}

}  // namespace

std::vector<Importance> importance_of(const Plan& plan, const Ledger& ledger) {
  const int64_t first = plan.rungs().front();  // as far as all of them came
  std::vector<Importance> result;
  for (const Parameter& parameter : plan.space.parameters) {
    std::vector<std::pair<std::string, double>> values;
    for (const Trial& trial : ledger.trials()) {
      const auto found = trial.point.find(parameter.key());
      const auto best = ledger.best_of(trial, first);
      if (found == trial.point.end() || !best || trial.state == TrialState::failed) continue;
      values.emplace_back(found->second, best->value);
    }
    result.push_back(
        {parameter.key(), explained(grouped(parameter, values)), static_cast<int>(values.size())});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Importance& a, const Importance& b) { return a.share > b.share; });
  return result;
}

SlotUse use_of(const Ledger& ledger) {
  SlotUse use;
  std::map<std::string, double> hosts;
  for (const Trial& trial : ledger.trials()) {
    use.busy_s += trial.seconds;
    if (!trial.host.empty()) hosts[trial.host] += trial.seconds;
  }
  use.hosts = static_cast<int>(hosts.size());
  use.wall_s = ledger.last_at();
  double most = 0;
  for (const auto& [host, seconds] : hosts) most = std::max(most, seconds);
  // The busiest host shows how much of them one can do at a time.
  if (most > 0) use.speed_up = use.busy_s / most;
  return use;
}

std::vector<const Trial*> ranked(const Ledger& ledger) {
  std::vector<const Trial*> trials;
  for (const Trial& trial : ledger.trials()) trials.push_back(&trial);
  std::stable_sort(trials.begin(), trials.end(), [&](const Trial* a, const Trial* b) {
    const auto one = ledger.best_of(*a);
    const auto other = ledger.best_of(*b);
    if (!one || !other) return one.has_value() && !other;
    return ledger.is_better(one->value, other->value);
  });
  return trials;
}

std::string search_text(const search::Directory& directory, size_t top) {
  const Plan& plan = directory.plan();
  const Ledger& ledger = directory.ledger();
  const std::vector<const Trial*> trials = ranked(ledger);
  const size_t shown = top == 0 ? trials.size() : std::min(top, trials.size());
  std::string text = fmt::format("{:>5}  {:>10}  {:>6}  {:>9}  {:<13}  {}\n", "trial",
                                 plan.metric().name, "epochs", "time", "", "values");
  for (size_t i = 0; i < shown; ++i) {
    const Trial& trial = *trials[i];
    const auto best = ledger.best_of(trial);
    text += fmt::format("{:>5}  {:>10}  {:>6}  {:>9}  {:<13}  {}\n", trial.number,
                        best ? plan.metric().text(best->value) : "-", trial.epoch,
                        format_duration(trial.seconds), state_text(trial),
                        search::to_string(trial.point));
  }
  if (shown < trials.size()) {
    text += fmt::format("  ... and {} more\n", trials.size() - shown);
  }
  text += "what counts (share of the differences between trials that it explains alone):";
  const std::vector<Importance> importance = importance_of(plan, ledger);
  for (const Importance& one : importance) {
    text += fmt::format("{} {} {:.0f} %", &one == importance.data() ? "" : ",", one.key,
                        100 * one.share);
  }
  const SlotUse use = use_of(ledger);
  text += fmt::format("\n{} in {} of trials, {} in all{}\n", counted(ledger.epochs(), "epoch"),
                      format_duration(use.busy_s), format_duration(use.wall_s),
                      use.hosts > 1 ? fmt::format(": {:.2f} times as fast as one of the {} hosts",
                                                  use.speed_up, use.hosts)
                                    : "");
  if (const std::string failed = search::common_cause(ledger); !failed.empty()) {
    text += failed + "\n";
  }
  if (const Trial* best = ledger.best()) {
    const Score score = *ledger.best_of(*best);
    text += fmt::format("best: trial {}, {} after {} epoch{}: {}\n", best->number,
                        plan.metric().named_text(score.value), score.epoch,
                        score.epoch == 1 ? "" : "s", search::to_string(best->point));
  }
  return text;
}

json search_json(const search::Directory& directory) {
  const Plan& plan = directory.plan();
  const Ledger& ledger = directory.ledger();
  json text = {{"search", directory.path().string()},
               {"name", directory.path().filename().string()},
               {"network", plan.job.network},
               {"data", plan.job.data},
               {"metric", plan.metric().name},
               {"higher_is_better", plan.metric().higher_is_better},
               {"is_share", plan.metric().is_share},
               {"epochs", ledger.epochs()},
               {"rungs", plan.rungs()}};
  for (const search::SettingField& field : search::setting_fields()) {
    std::visit([&](const auto member) { text["settings"][field.key] = plan.settings.*member; },
               field.member);
  }
  for (const Parameter& parameter : plan.space.parameters) {
    json one = {{"key", parameter.key()}, {"option", parameter.field->option.substr(2)}};
    if (parameter.kind == Parameter::Kind::choice) {
      one["choices"] = parameter.choices;
    } else {
      one["low"] = parameter.low;
      one["high"] = parameter.high;
      one["log"] = parameter.kind == Parameter::Kind::log;
    }
    text["parameters"].push_back(std::move(one));
  }
  text["trials"] = json::array();
  for (const Trial& trial : ledger.trials()) text["trials"].push_back(trial_json(directory, trial));
  for (const Importance& one : importance_of(plan, ledger)) {
    text["importance"].push_back({{"key", one.key}, {"share", one.share}, {"trials", one.trials}});
  }
  const SlotUse use = use_of(ledger);
  text["time"] = {
      {"wall", use.wall_s}, {"busy", use.busy_s}, {"hosts", use.hosts}, {"speed_up", use.speed_up}};
  if (const Trial* best = ledger.best()) {
    text["best"] = trial_json(directory, *best);
    text["best"]["job"] = directory.best_job().string();
  }
  return text;
}

}  // namespace syrtos::report
