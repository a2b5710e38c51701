// What is printed when a training has ended.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/base/format.h"
#include "syrtos/cli/train_options.h"
#include "syrtos/planner/units.h"
#include "syrtos/run/directory.h"

namespace syrtos::cli {

using trace::Part;
using train::Outcome;

namespace {

/// How a plan came out. Seconds of a step.
struct PlanTruth {
  double planned_s = 0;
  double measured_s = 0;
};

PlanTruth plan_truth(const train::Outcome& outcome, double planned_step) {
  PlanTruth truth{.planned_s = planned_step};
  if (planned_step == 0 || outcome.epochs.empty()) return truth;
  // The first epoch warms up, if there are others.
  const size_t first = outcome.epochs.size() > 1 ? 1 : 0;
  const int64_t before = first > 0 ? outcome.epochs[0].step : 0;
  double seconds = 0;
  for (size_t i = first; i < outcome.epochs.size(); ++i) {
    seconds += outcome.epochs[i].seconds.training();
  }
  const int64_t steps = outcome.epochs.back().step - before;
  if (steps > 0) truth.measured_s = seconds / static_cast<double>(steps);
  return truth;
}

std::string to_text(const PlanTruth& truth) {
  const double off = 100 * (truth.measured_s / truth.planned_s - 1);
  return fmt::format(
      "planned {} a step, measured {} ({:.0f} % {})", planner::format_short_time(truth.planned_s),
      planner::format_short_time(truth.measured_s), std::abs(off), off >= 0 ? "more" : "less");
}

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

}  // namespace

int report(const api::Trained& trained, double planned_step_s, const std::string& resume_command,
           bool json) {
  const Outcome& outcome = trained.outcome;
  const bool interrupted = outcome.end == Outcome::End::interrupted;
  if (json) {
    nlohmann::json text = to_json(trained);
    if (planned_step_s > 0) {
      const PlanTruth truth = plan_truth(outcome, planned_step_s);
      text["plan"] = {{"step", truth.planned_s}, {"measured_step", truth.measured_s}};
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
  trace::StepDivision parts;
  for (const train::EpochMetrics& epoch : outcome.epochs) parts += epoch.seconds;
  const auto percent = [&](Part part) { return 100 * parts[part] / parts.sum(); };
  const bool several = !last.workers.empty();
  fmt::print(
      "time{}: load {:.1f} %, forward {:.1f} %, backward {:.1f} %, update {:.1f} %, {}evaluation "
      "{:.1f} %, checkpoints {:.1f} %, other {:.1f} %\n",
      several ? " of rank 0" : "", percent(Part::load), percent(Part::forward),
      percent(Part::backward), percent(Part::update),
      several ? fmt::format("network {:.1f} %, waiting {:.1f} %, ", percent(Part::network),
                            percent(Part::wait))
              : "",
      percent(Part::evaluate), percent(Part::checkpoint), percent(Part::other));
  print_staleness(outcome);
  if (planned_step_s > 0) {
    fmt::print("{}\n", to_text(plan_truth(outcome, planned_step_s)));
  }
  fmt::print("{} in {}: test accuracy {:.2f} %; {}\n",
             outcome.end == Outcome::End::stopped_early ? "stopped early" : "done",
             format_duration(outcome.seconds), 100 * last.test_accuracy,
             run::Directory::at(trained.run).best().string());
  return kExitDone;
}

}  // namespace syrtos::cli
