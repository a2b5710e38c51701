#pragma once

#include <span>
#include <vector>

#include "syrtos/ops/op.h"

// Changes of shape, as other formats and NumPy know them, made of the engine's operations. Each
// function adds what is needed to the graph and returns the result; nothing is added where nothing
// changes. Shapes always mean [batch, channels, spatial...] and row-major order, whatever the
// layouts are in which a program keeps its values: nobody has to know those. Axes below 0 count
// from the end. All throw a RequestError that names the shapes where something does not fit.

namespace syrtos::ops {

/// An axis from 0 on; `rank` is the one of the value (or, for unsqueeze, of the result).
int axis_from_start(int64_t axis, int rank);

ValueId reshape(GraphBuilder& graph, ValueId x, const Shape& shape);
/// [the axes before `axis`, all others]; 1 where there are none.
ValueId flatten(GraphBuilder& graph, ValueId x, int64_t axis = 1);
/// Without the axes, which must be of extent 1; all such axes when none is named.
ValueId squeeze(GraphBuilder& graph, ValueId x, std::span<const int64_t> axes = {});
/// With axes of extent 1 at these places of the result.
ValueId unsqueeze(GraphBuilder& graph, ValueId x, std::span<const int64_t> axes);
/// Axis i of the result is axis order[i] of x; without an order all axes are reversed.
ValueId transpose(GraphBuilder& graph, ValueId x, std::span<const int64_t> order = {});
/// x repeated along axes of extent 1 so that it has the shape that x and `shape` give together.
ValueId expand(GraphBuilder& graph, ValueId x, const Shape& shape);

/// Elements start, start + step, ... before end of an axis; as in Python, start and end below 0
/// count from the end, and both are kept within the axis.
struct SliceRange {
  int64_t axis = 0;
  int64_t start = 0;
  int64_t end = INT64_MAX;
  int64_t step = 1;
};
ValueId slice(GraphBuilder& graph, ValueId x, std::span<const SliceRange> ranges);
/// Parts of the given extents along an axis, which they fill.
std::vector<ValueId> split(GraphBuilder& graph, ValueId x, int64_t axis,
                           std::span<const int64_t> extents);

enum class PadMode {
  constant,
  edge,     ///< the outermost element again
  reflect,  ///< mirrored at the outermost element, which is not repeated
  wrap,     ///< the other end
};
/// Elements before and after each axis of x, one number each for all axes; below 0 cuts off.
ValueId pad(GraphBuilder& graph, ValueId x, std::span<const int64_t> before,
            std::span<const int64_t> after, PadMode mode = PadMode::constant, float value = 0);

/// What the indices name along an axis, in the place of it and in the indices' shape (of rank 0:
/// the axis disappears). Indices below 0 count from the end.
ValueId gather(GraphBuilder& graph, ValueId x, int64_t axis, std::span<const int64_t> indices,
               const Shape& indices_shape);
/// The same for indices (s32) that are computed.
ValueId gather(GraphBuilder& graph, ValueId x, int64_t axis, ValueId indices);

}  // namespace syrtos::ops
