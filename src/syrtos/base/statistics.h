#pragma once

#include <utility>
#include <vector>

namespace syrtos {

/// The value below which this part (0 to 1) of them lies; 0 when there are none.
double percentile(std::vector<double> values, double part);
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }
/// Half of what lies between the 16th and the 84th percentile, against the median: the relative
/// standard deviation, if it were a normal distribution.
double relative_spread(std::vector<double> values);

}  // namespace syrtos
