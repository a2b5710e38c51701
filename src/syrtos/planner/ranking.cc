#include "syrtos/planner/ranking.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace syrtos::planner {

namespace {

constexpr double kEqual = 0.01;

double score(const Prediction& prediction, Goal goal) {
  if (goal == Goal::cost) return prediction.cost();
  const bool wasteful = goal == Goal::efficiency && prediction.efficiency() < kEfficient;
  return wasteful ? 1e6 * prediction.epoch_s : prediction.epoch_s;
}

/// Among equals: fewer hosts, the same result as alone, nothing rounded, no servers.
int complexity(const Prediction& prediction) {
  const strategy::Options& options = prediction.candidate.options;
  if (prediction.candidate.workers == 1) return 0;
  int points = 16 * prediction.hosts;
  if (!options.sync.splits_batch()) points += options.sync.sees_all_gradients() ? 2 : 6;
  if (!options.wire.exact()) points += 3;
  if (options.exchange.uses_servers()) points += 1;
  if (options.bucket_mb > 0) points += 1;
  return points;
}

}  // namespace

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
