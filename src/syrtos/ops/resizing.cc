#include "syrtos/ops/resizing.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::ops {

namespace {

double coordinate(const ResizeOptions& options, const ResizedAxis& axis, int64_t old, int64_t i) {
  const auto x = static_cast<double>(i);
  const auto from = static_cast<double>(old);
  const auto to = static_cast<double>(axis.extent);
  switch (options.coordinates) {
    case ResizeCoordinates::half_pixel:
      return (x + 0.5) / axis.scale - 0.5;
    case ResizeCoordinates::half_pixel_symmetric:
      return from / 2 * (1 - to / (axis.scale * from)) + (x + 0.5) / axis.scale - 0.5;
    case ResizeCoordinates::pytorch_half_pixel:
      return axis.extent == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
    case ResizeCoordinates::align_corners:
      return axis.extent == 1 ? 0 : x * (from - 1) / (axis.scale * from - 1);
    case ResizeCoordinates::asymmetric:
      return x / axis.scale;
    case ResizeCoordinates::tf_half_pixel_for_nn:
      return (x + 0.5) / axis.scale;
  }
  return x;
}

double rounded(ResizeRounding rounding, double x) {
  switch (rounding) {
    case ResizeRounding::prefer_floor:
      return std::ceil(x - 0.5);
    case ResizeRounding::prefer_ceil:
      return std::floor(x + 0.5);
    case ResizeRounding::floor:
      return std::floor(x);
    case ResizeRounding::ceil:
      return std::ceil(x);
  }
  return x;
}

/// What an element at a distance weighs.
double filter(const ResizeOptions& options, double distance) {
  const double d = std::fabs(distance);
  if (options.mode == ResizeMode::linear) return std::max(0.0, 1 - d);
  const double a = options.cubic_coefficient;
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

void add_filtered_row(SparseRows& map, const ResizeOptions& options, double scale, double x) {
  const double narrow = options.antialias ? std::min(scale, 1.0) : 1.0;
  const double reach = (options.mode == ResizeMode::linear ? 1 : 2) / narrow;
  std::map<int64_t, double> weights;
  double sum = 0;
  for (auto i = static_cast<int64_t>(std::floor(x - reach)); static_cast<double>(i) <= x + reach;
       ++i) {
    if (options.exclude_outside && (i < 0 || i >= map.columns)) continue;
    const double weight = filter(options, (static_cast<double>(i) - x) * narrow);
    if (weight == 0) continue;
    weights[std::clamp<int64_t>(i, 0, map.columns - 1)] += weight;
    sum += weight;
  }
  for (const auto& [index, weight] : weights) map.add(index, static_cast<float>(weight / sum));
}

SparseRows map_of(const ResizeOptions& options, const ResizedAxis& axis, int64_t old) {
  SparseRows map;
  map.columns = old;
  for (int64_t i = 0; i < axis.extent; ++i) {
    const double x = coordinate(options, axis, old, i);
    if (options.mode == ResizeMode::nearest) {
      const auto index = static_cast<int64_t>(rounded(options.rounding, x));
      map.add(std::clamp<int64_t>(index, 0, old - 1), 1);
    } else {
      add_filtered_row(map, options, axis.scale, x);
    }
    map.end_row();
  }
  return map;
}

}  // namespace

ValueId resize(GraphBuilder& graph, ValueId x, std::span<const ResizedAxis> axes,
               const ResizeOptions& options) {
  for (const ResizedAxis& axis : axes) {
    const Shape shape = graph.type(x).shape;
    const int along = axis_from_start(axis.axis, shape.rank());
    if (axis.extent < 1 || !(axis.scale > 0)) {
      fail_request(
          "[resize] expected a positive extent and scale for axis {} of {}, found {} and "
          "{}",
          along, to_string(shape), axis.extent, axis.scale);
    }
    // Elements are named one by one, on both sides.
    constexpr int64_t kMost = int64_t{1} << 24;
    if (axis.extent > kMost || shape[along] > kMost) {
      fail_request("[resize] expected at most {} elements along axis {} of {}, found {}", kMost,
                   along, to_string(shape), axis.extent);
    }
    const bool same = axis.extent == shape[along] && axis.scale == 1;
    if (same) continue;
    const auto map = std::make_shared<const SparseRows>(map_of(options, axis, shape[along]));
    x = graph.add_one(std::make_shared<AxisMap>(along, map), {x});
  }
  return x;
}

}  // namespace syrtos::ops
