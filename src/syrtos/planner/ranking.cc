#include "syrtos/planner/ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::planner {

namespace {

constexpr double kEqual = 0.01;
constexpr double kWorthIt = 0.05;

double score(const Prediction& prediction, Goal goal) {
  if (goal == Goal::cost) return prediction.cost();
  const bool wasteful = goal == Goal::efficiency && prediction.efficiency() < kEfficient;
  return wasteful ? 1e6 * prediction.epoch_s : prediction.epoch_s;
}

/// Among equals: fewer hosts, the same result as alone, nothing rounded, no servers,
/// nothing divided.
int complexity(const Prediction& prediction) {
  const strategy::Options& options = prediction.candidate.options;
  if (prediction.candidate.workers == 1) return 0;
  int points = 16 * prediction.hosts;
  if (!options.sync.splits_batch()) points += options.sync.sees_all_gradients() ? 2 : 6;
  if (!options.wire.exact()) points += 3;
  if (options.exchange.uses_servers()) points += 1;
  if (options.bucket_mb > 0) points += 1;
  if (options.splits_columns()) points += 1;
  if (options.split.cuts()) points += options.split.kind == strategy::Split::Kind::names ? 3 : 2;
  if (options.pipeline.kind != strategy::Pipeline().kind) points += 1;
  return points;
}

}  // namespace

Goal parse_goal(std::string_view text) {
  for (const Goal goal : {Goal::result, Goal::time, Goal::cost, Goal::efficiency}) {
    if (text == to_string(goal)) return goal;
  }
  fail_request("--goal: expected result, time, cost or efficiency, found '{}'{}", text,
               suggestion(text, {"result", "time", "cost", "efficiency"}));
}

const char* to_string(Goal goal) {
  switch (goal) {
    case Goal::result:
      return "result";
    case Goal::time:
      return "time";
    case Goal::cost:
      return "cost";
    case Goal::efficiency:
      return "efficiency";
  }
  return "?";
}

WayKind kind_of(const Candidate& candidate) {
  if (candidate.workers == 1) return {};
  const strategy::Options& options = candidate.options;
  return {.distributed = true,
          .sync = options.sync.kind,
          .division = options.split.cuts()       ? 2
                      : options.splits_columns() ? 1
                                                 : 0};
}

std::vector<const Prediction*> Plan::best_of_each_kind() const {
  std::vector<const Prediction*> best;
  std::set<WayKind> seen;
  for (const Prediction& prediction : ranked) {
    if (seen.insert(kind_of(prediction.candidate)).second) best.push_back(&prediction);
  }
  return best;
}

std::vector<const Prediction*> Plan::faster_with_another_result() const {
  std::vector<const Prediction*> faster;
  std::set<strategy::Sync::Kind> seen;
  for (const Prediction* prediction : best_of_each_kind()) {
    if (!prediction->keeps_result && !seen.insert(prediction->candidate.options.sync.kind).second) {
      continue;
    }
    if (!prediction->keeps_result && prediction->epoch_s < (1 - kWorthIt) * best().epoch_s) {
      faster.push_back(prediction);
    }
  }
  return faster;
}

const Prediction* Plan::best_distributed() const {
  for (const Prediction& prediction : ranked) {
    const bool counts = goal != Goal::result || prediction.keeps_result;
    if (counts && prediction.candidate.workers > 1) return &prediction;
  }
  return nullptr;
}

bool Plan::is_worth_it(const Prediction& prediction) const {
  return prediction.speed_up >= 1 + kWorthIt && prediction.slowest_speed_up() > 1;
}

void Plan::choose() {
  size_t alone_at = ranked.size();
  chosen = ranked.size();
  for (size_t i = 0; i < ranked.size(); ++i) {
    if (ranked[i].candidate.workers == 1) alone_at = std::min(alone_at, i);
    const bool counts = goal != Goal::result || ranked[i].keeps_result;
    if (counts && chosen == ranked.size()) chosen = i;
  }
  if (chosen == ranked.size()) chosen = 0;  // it fits only where the result changes
  // One host is the simplest way: another must be faster for certain, unless it does not fit.
  const bool for_speed = goal == Goal::result || goal == Goal::time;
  const bool distributed = ranked[chosen].candidate.workers > 1;
  if (distributed && for_speed && alone_at < ranked.size() && !is_worth_it(ranked[chosen])) {
    chosen = alone_at;
  }
}

Workload believable(Workload workload) {
  std::vector<strategy::ComputeTimes::Pass>& passes = workload.compute.passes;
  if (strategy::doubt_of(workload.compute).empty()) return workload;
  for (size_t large = 1; large < passes.size(); ++large) {  // by batch size
    strategy::ComputeTimes::Pass& pass = passes[large];
    const auto samples = static_cast<double>(pass.batch);
    double least = pass.seconds;
    for (size_t small = 0; small < large; ++small) {
      const double each = passes[small].seconds / static_cast<double>(passes[small].batch);
      least = std::min(least, each * samples);
    }
    const double factor = least / pass.seconds;
    pass.seconds = least;
    for (std::vector<double>* times :
         {&pass.needed, &pass.ready, &pass.items, &pass.forward, &pass.backward}) {
      for (double& seconds : *times) seconds *= factor;
    }
  }
  return workload;
}

std::vector<std::string> notes_of(const Workload& workload, const Plan& plan) {
  std::vector<std::string> notes;
  if (std::string doubt = strategy::doubt_of(workload.compute); !doubt.empty()) {
    notes.push_back(std::move(doubt));
  }
  const Candidate& best = plan.best().candidate;
  if (best.workers > 1 && plan.best().speed_up > best.workers) {
    notes.push_back(fmt::format(
        "{:.2f} times with {} workers is more than their number: smaller batches were measured to "
        "take less for each sample, by caches or because other programs ran meanwhile; measure "
        "again to be sure",
        plan.best().speed_up, best.workers));
  }
  const int64_t samples = step_samples(workload, best);
  const int64_t steps = steps_per_epoch(workload, best);
  constexpr int64_t kLargeBatch = 8192;
  constexpr int64_t kFewSteps = 20;
  if (samples >= kLargeBatch || (steps < kFewSteps && samples >= kLargeBatch / 8)) {
    notes.push_back(fmt::format(
        "A step takes {} samples and an epoch {} step{}: with batches of many thousands networks "
        "usually end at a lower accuracy, or need many more epochs; a smaller --batch may train "
        "sooner to the same accuracy",
        format_count(samples), steps, steps == 1 ? "" : "s"));
  }
  return notes;
}

void rank(std::vector<Prediction>& predictions, Goal goal) {
  double least = std::numeric_limits<double>::infinity();
  for (const Prediction& prediction : predictions) least = std::min(least, score(prediction, goal));
  const auto level = [&](const Prediction& prediction) {
    return static_cast<int64_t>(std::log(score(prediction, goal) / least) / kEqual);
  };
  std::stable_sort(predictions.begin(), predictions.end(),
                   [&](const Prediction& a, const Prediction& b) {
                     const int64_t left = level(a);
                     const int64_t right = level(b);
                     if (left != right) return left < right;
                     if (complexity(a) != complexity(b)) return complexity(a) < complexity(b);
                     return score(a, goal) < score(b, goal);
                   });
}

}  // namespace syrtos::planner
