#include "syrtos/run/metric.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>

#include "syrtos/base/error.h"

namespace syrtos::run {

namespace {

constexpr std::array<Metric, 8> kMetrics{{
    {.name = "f1", .title = "F1", .shown = true},
    {.name = "accuracy", .title = "accuracy", .is_share = true, .shown = true},
    {.name = "mae", .title = "MAE", .shown = true, .higher_is_better = false},
    {.name = "rmse", .title = "RMSE", .higher_is_better = false},
    {.name = "r2", .title = "R2", .shown = true},
    {.name = "top5", .title = "top 5", .is_share = true},
    {.name = "average_precision", .title = "average precision"},
    {.name = "loss", .title = "loss", .higher_is_better = false},
}};

}  // namespace

std::string Metric::text(double value) const {
  if (is_share) return fmt::format("{:.2f} %", 100 * value);
  // Errors have the unit of what is predicted, whatever its size.
  const double size = std::abs(value);
  return size >= 1000 || (size > 0 && size < 0.01) ? fmt::format("{:.4g}", value)
                                                   : fmt::format("{:.4f}", value);
}

std::string Metric::named_text(double value) const {
  return fmt::format("{} {}", title, text(value));
}

std::span<const Metric> metrics() { return kMetrics; }

const Metric* find_metric(std::string_view name) {
  for (const Metric& metric : kMetrics) {
    if (metric.name == name) return &metric;
  }
  return nullptr;
}

const Metric& metric(std::string_view name) {
  const Metric* found = find_metric(name);
  SYRTOS_CHECK(found != nullptr, "{}", name);
  return *found;
}

double value_of(const Scores& scores, std::string_view name) {
  for (const Score& score : scores) {
    if (score.metric->name == name) return score.value;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

std::string to_text(const Scores& scores, std::string_view before, std::string_view between) {
  std::string text;
  for (const Score& score : scores) {
    if (!score.metric->shown) continue;
    text += fmt::format("{}{}{} {}", text.empty() ? "" : between, before, score.metric->title,
                        score.metric->text(score.value));
  }
  return text;
}

}  // namespace syrtos::run
