#pragma once

#include <span>

#include "syrtos/ops/op.h"

namespace syrtos::ops {

enum class ResizeMode { nearest, linear, cubic };

/// Where the centre of element i of an axis lies in the axis before, in elements; `scale` is new
/// extent / old extent.
enum class ResizeCoordinates {
  half_pixel,            ///< (i + 0.5) / scale - 0.5
  half_pixel_symmetric,  ///< the same, centred where the extents do not fit the scale
  pytorch_half_pixel,    ///< the same as half_pixel, 0 where one element is left
  align_corners,         ///< i * (old - 1) / (new - 1): ends lie on ends
  asymmetric,            ///< i / scale
  tf_half_pixel_for_nn,  ///< (i + 0.5) / scale
};

/// How nearest rounds a coordinate.
enum class ResizeRounding { prefer_floor, prefer_ceil, floor, ceil };

struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeRounding rounding = ResizeRounding::prefer_floor;
  bool antialias = false;        ///< linear and cubic: the filter widens where an axis shrinks
  bool exclude_outside = false;  ///< elements beyond the ends weigh nothing; else ends are repeated
  float cubic_coefficient = -0.75F;
};

struct ResizedAxis {
  int64_t axis = 0;  ///< below 0 counts from the end
  int64_t extent = 1;
  double scale = 1;  ///< extent / old extent, unless the file says otherwise
};

/// x with other extents along some axes, one axis after the other.
ValueId resize(GraphBuilder& graph, ValueId x, std::span<const ResizedAxis> axes,
               const ResizeOptions& options);

}  // namespace syrtos::ops
