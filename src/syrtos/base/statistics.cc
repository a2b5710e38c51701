#include "syrtos/base/statistics.h"

#include <algorithm>
#include <cmath>

namespace syrtos {

namespace {

double in_sorted(const std::vector<double>& sorted, double part) {
  const double at = part * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], at - static_cast<double>(below));
}

}  // namespace

double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return in_sorted(values, part);
}

double relative_spread(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double middle = in_sorted(values, 0.5);
  return middle > 0 ? (in_sorted(values, 0.84) - in_sorted(values, 0.16)) / 2 / middle : 0;
}

}  // namespace syrtos
