#pragma once

#include <cstdint>
#include <vector>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// A line of curve.csv: means over the samples since the line before, or since the epoch began.
struct CurvePoint {
  int64_t step = 0;  ///< steps done
  double time = 0;   ///< seconds since 1970
  double loss = 0, accuracy = 0;
  double images_per_s = 0;  ///< of all workers

  bool operator==(const CurvePoint&) const = default;
};

/// Begins the file, or forgets lines after this step: they are about to be repeated. As the next
/// one for whoever watches: what cannot be written is left out, and nothing is thrown.
void rewind_curve(const Directory& directory, int64_t step);
void append(const Directory& directory, const CurvePoint& point);
/// Lines that can be read and whose steps grow. Empty when it is missing.
std::vector<CurvePoint> read_curve(const Directory& directory);

}  // namespace syrtos::run
