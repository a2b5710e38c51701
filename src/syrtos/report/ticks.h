#pragma once

#include <string>
#include <vector>

#include "syrtos/report/plot.h"

namespace syrtos::report {

struct Tick {
  double value = 0;
  std::string label;
};

/// Where an axis begins and ends, and its ticks at round numbers between.
struct Range {
  Scale scale = Scale::linear;
  double from = 0;
  double to = 1;
  std::vector<Tick> ticks;

  /// 0 at `from`, 1 at `to`.
  double position(double value) const;
};

/// Whether the axis can show this value.
bool shown(const Axis& axis, double value);

bool visible(const Chart& chart, const Point& point);
/// A spread that is given and whose ends can be shown.
bool spread_visible(const Chart& chart, const Point& point);

/// What the axes of a chart have to reach over.
struct Extent {
  std::vector<double> xs, ys;
  bool lines = false;  ///< some points are joined
};
Extent extent_of(const Chart& chart);

/// The range of the values that can be shown and of the axis's own ends. `most_ticks` is a wish: a
/// log axis may have a few more. `tight`: a linear range ends at the values, otherwise at the ticks
/// around them.
Range range_of(const Axis& axis, const std::vector<double>& values, int most_ticks, bool tight);

}  // namespace syrtos::report
