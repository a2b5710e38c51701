#include "syrtos/compare/arrays.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "syrtos/base/error.h"

namespace syrtos::compare {

const char* to_string(Precision precision) { return precision == Precision::f32 ? "f32" : "f64"; }

Distance distance(const ops::RefTensor& a, const ops::RefTensor& b) {
  SYRTOS_CHECK(a.values.size() == b.values.size(), "{} and {}", a.values.size(), b.values.size());
  Distance result;
  for (size_t i = 0; i < a.values.size(); ++i) {
    const double apart = std::abs(a.values[i] - b.values[i]);
    if (!std::isfinite(apart)) {
      result.absolute = std::numeric_limits<double>::infinity();
    } else {
      result.absolute = std::max(result.absolute, apart);
      result.scale = std::max(result.scale, std::abs(a.values[i]));
    }
  }
  return result;
}

LargestDifference largest_difference(const Arrays& ours, const Arrays& theirs) {
  constexpr double kLeastShare = 1e-3;
  double largest = 0;
  std::map<std::string, Distance> distances;
  for (const auto& [name, values] : ours) {
    const auto found = theirs.find(name);
    SYRTOS_CHECK(found != theirs.end(), "{}", name);
    distances[name] = distance(values, found->second);
    largest = std::max(largest, distances[name].scale);
  }
  LargestDifference result;
  for (const auto& [name, apart] : distances) {
    const double scale = std::max({apart.scale, kLeastShare * largest, 1e-30});
    if (apart.absolute / scale > result.relative) result = {apart.absolute / scale, name};
  }
  return result;
}

}  // namespace syrtos::compare
