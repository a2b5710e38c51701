#pragma once

#include <utility>
#include <vector>

namespace syrtos {

/// 0 to 1; 0 of nothing.
double percentile(std::vector<double> values, double part);
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }
/// Half of what lies between the 16th and the 84th percentile, against the median: the relative
/// standard deviation, if it were a normal distribution.
double relative_spread(std::vector<double> values);

}  // namespace syrtos
