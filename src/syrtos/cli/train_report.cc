// What is printed when a training has ended.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/api/explain.h"
#include "syrtos/base/format.h"
#include "syrtos/cli/train_options.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/parts.h"

namespace syrtos::cli {

using train::Outcome;

namespace {

nlohmann::json to_json(const api::Trained& trained) {
  const Outcome& outcome = trained.outcome;
  nlohmann::json epochs = nlohmann::json::array();
  for (const train::EpochMetrics& metrics : outcome.epochs) epochs.push_back(to_json(metrics));
  const char* end = outcome.end == Outcome::End::complete        ? "complete"
                    : outcome.end == Outcome::End::stopped_early ? "stopped early"
                                                                 : "interrupted";
  nlohmann::json text = {{"run", trained.run.string()},
                         {"end", end},
                         {"step", outcome.position.step},
                         {"seconds", outcome.seconds},
                         {"epochs", epochs}};
  for (const auto& [stale, pushes] : outcome.staleness) {
    text["staleness"][std::to_string(stale)] = pushes;
  }
  if (!outcome.staleness.empty()) text["dropped"] = outcome.dropped;
  return text;
}

void print_staleness(const Outcome& outcome) {
  int64_t all = 0;
  for (const auto& [stale, pushes] : outcome.staleness) all += pushes;
  if (all == 0) return;
  std::string text;
  for (const auto& [stale, pushes] : outcome.staleness) {
    text += fmt::format("{}{}: {:.1f} %", text.empty() ? "" : ", ", stale,
                        100.0 * static_cast<double>(pushes) / static_cast<double>(all));
  }
  if (outcome.dropped > 0) {
    text += fmt::format("; dropped, because they came too late: {:.1f} %",
                        100.0 * static_cast<double>(outcome.dropped) / static_cast<double>(all));
  }
  fmt::print("staleness (updates between pull and push): {}\n", text);
}

/// Whether no epoch has a better value of this metric than the one that is kept as the best:
/// another metric has chosen it.
bool is_best_of(const run::Metric& metric, const std::vector<train::EpochMetrics>& all,
                const train::EpochMetrics& best) {
  const double value = best.test_value(metric.name);
  return std::all_of(all.begin(), all.end(), [&](const train::EpochMetrics& epoch) {
    const double other = epoch.test_value(metric.name);
    return !epoch.evaluated || !(metric.higher_is_better ? other > value : other < value);
  });
}

/// "has the best loss": why that epoch is the best one.
std::string why_best(const std::vector<train::EpochMetrics>& all, const train::EpochMetrics& best) {
  for (const run::Metric& metric : run::metrics()) {
    if (!std::isnan(best.test_value(metric.name)) && is_best_of(metric, all, best)) {
      return fmt::format("has the best {}", metric.title);
    }
  }
  return "is kept as the best";
}

/// What came out at the end and in the best epoch, which may be one of before this run went on, and
/// where the better one is.
std::string result_text(const api::Trained& trained) {
  const auto directory = run::Directory::at(trained.run);
  const train::EpochMetrics& last = trained.outcome.epochs.back();
  if (!last.evaluated) {
    return fmt::format("nothing was evaluated; {}", directory.last().string());
  }
  run::Notes ignored;
  const std::vector<train::EpochMetrics> all = run::read_metrics(directory, ignored);
  const auto best = std::find_if(all.rbegin(), all.rend(),
                                 [](const train::EpochMetrics& epoch) { return epoch.best; });
  if (last.best || best == all.rend()) {
    return fmt::format("{}{}; {}", run::to_text(last.test, last.set + " "),
                       all.size() > 1 ? ", the best" : "",
                       (last.best ? directory.best() : directory.last()).string());
  }
  if (best->test == last.test) {
    return fmt::format("{}, as in epoch {}, which is kept as the best; {}",
                       run::to_text(last.test, last.set + " "), best->epoch,
                       directory.best().string());
  }
  const run::Metric& metric = *last.test[0].metric;
  const bool single = last.test.size() == 1 || !last.test[1].metric->shown;
  const std::string before = last.set + " ";
  if (!is_best_of(metric, all, *best)) {
    return fmt::format(
        "{} at the end, {} in epoch {}, which {}; {}",
        single ? before + metric.named_text(last.test[0].value) : run::to_text(last.test, before),
        single ? metric.text(best->test[0].value) : run::to_text(best->test), best->epoch,
        why_best(all, *best), directory.best().string());
  }
  if (single) {
    return fmt::format("{}{} at the end, {} at best (epoch {}); {}", before,
                       metric.named_text(last.test[0].value), metric.text(best->test[0].value),
                       best->epoch, directory.best().string());
  }
  return fmt::format("{} at the end; at best {} (epoch {}); {}", run::to_text(last.test, before),
                     run::to_text(best->test), best->epoch, directory.best().string());
}

/// What commands took that had trained the run before this one went on. Teams of one command, which
/// follow each other when workers are lost, are counted from 1.
double earlier_seconds(const std::vector<run::TrainedPart>& parts) {
  size_t begin = parts.size();
  while (begin > 0 && parts[begin - 1].team > 1) --begin;
  double seconds = 0;
  for (size_t i = 0; i + 1 < begin; ++i) seconds += parts[i].time.sum();
  return seconds;
}

}  // namespace

int report(const api::Trained& trained, double planned_step_s, const std::string& resume_command,
           bool json) {
  const Outcome& outcome = trained.outcome;
  const bool interrupted = outcome.end == Outcome::End::interrupted;
  // What 'syrtos explain' says of the run, from the same files.
  const api::Explained explained = api::explain(trained.run, {.trace = false, .advice = 0});
  if (json) {
    nlohmann::json text = to_json(trained);
    if (planned_step_s > 0) {
      text["plan"] = {{"step", planned_step_s}, {"measured_step", explained.explanation.step_s}};
    }
    fmt::print("{}\n", text.dump());
    return interrupted ? kExitFailed : kExitDone;
  }
  if (interrupted) {
    fmt::print(stderr,
               "interrupted after step {} (epoch {}), the position is saved; go on with:\n"
               "  {}\n",
               outcome.position.step, outcome.position.epoch + 1, resume_command);
    return kExitFailed;
  }
  const train::EpochMetrics& last = outcome.epochs.back();
  const std::optional<report::TimeAccount>& account = explained.run.account;
  // Of a run that went on, the account is of all its commands.
  const double before = account ? earlier_seconds(explained.run.parts) : 0;
  if (account) {
    fmt::print("time{}: {}\n", before > 0 ? " of all commands of this run" : "",
               report::account_text(*account));
  }
  if (!explained.explanation.path.empty()) fmt::print("{}\n", explained.explanation.path);
  print_staleness(outcome);
  const std::string plan = report::plan_text(explained.explanation);
  if (!plan.empty()) fmt::print("{}\n", plan);
  fmt::print(
      "{} in {}{}: {}\n", outcome.end == Outcome::End::stopped_early ? "stopped early" : "done",
      format_duration(account ? account->sum() - before : outcome.seconds),
      before > 0 ? fmt::format(" ({} with what came before)", format_duration(account->sum())) : "",
      result_text(trained));
  constexpr double kDiverged = 50;  // guessing among as many classes as there are words costs 12
  if (last.evaluated && last.test_loss > kDiverged) {
    fmt::print(
        "note: the test loss of {:.4g} is far worse than guessing: training diverged; try a "
        "smaller --lr or --clip 1\n",
        last.test_loss);
  }
  return kExitDone;
}

}  // namespace syrtos::cli
