#pragma once

#include <cstdint>
#include <vector>

#include "syrtos/run/directory.h"
#include "syrtos/run/metric.h"

namespace syrtos::run {

/// A line of curve.csv: means over the samples since the line before, or since the epoch began.
struct CurvePoint {
  int64_t step = 0;  ///< steps done
  double time = 0;   ///< seconds since 1970
  double loss = 0;
  double score = 0;         ///< by what the run's training is measured by, see metric.h
  double images_per_s = 0;  ///< of all workers

  bool operator==(const CurvePoint&) const = default;
};

/// All lines, and what the score in them is.
struct Curve {
  const Metric* metric = nullptr;  ///< nullptr: not known
  std::vector<CurvePoint> points;
};

/// Begins the file, or forgets lines after this step: they are about to be repeated. As the next
/// one for whoever watches: what cannot be written is left out, and nothing is thrown.
void rewind_curve(const Directory& directory, int64_t step, const Metric& metric);
void append(const Directory& directory, const CurvePoint& point);
/// Lines that can be read and whose steps grow. Empty when it is missing.
Curve read_curve(const Directory& directory);

}  // namespace syrtos::run
