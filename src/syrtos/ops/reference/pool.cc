#include "syrtos/ops/pool.h"

#include <algorithm>

namespace syrtos::ops {

namespace {

/// The elements of one axis that an output covers, and how many there are with its padding.
struct Span {
  int64_t begin, end, step, with_padding;

  int64_t count() const { return (end - begin + step - 1) / step; }
};

/// src and dst as 2-D; a 1-D image has one row.
template <typename PoolOp>
class Geometry {
 public:
  Geometry(const PoolOp& op, const Shape& src, const Shape& dst) : op_(op) {
    planes = src[0] * src[1];
    const int axes = src.rank() - 2;
    first_ = 2 - axes;
    for (int axis = 0; axis < axes; ++axis) {
      const int to = axis + first_;
      in[static_cast<size_t>(to)] = src[axis + 2];
      out[static_cast<size_t>(to)] = dst[axis + 2];
    }
  }

  Span span(size_t axis, int64_t position) const {
    if (static_cast<int>(axis) < first_) return {0, 1, 1, 1};
    const int64_t extent = in[axis];
    if (op_.adaptive) {
      const int64_t begin = position * extent / out[axis];
      const int64_t end = ((position + 1) * extent + out[axis] - 1) / out[axis];
      return {begin, end, 1, end - begin};
    }
    const size_t own = axis - static_cast<size_t>(first_);
    const int64_t begin = position * op_.window.stride[own] - op_.window.pad_begin[own];
    const int64_t step = op_.window.dilation[own];
    Span span{extent, 0, step, 0};
    for (int64_t k = 0; k < op_.window.kernel[own]; ++k) {
      const int64_t at = begin + k * step;
      if (at < extent + op_.window.pad_end[own]) ++span.with_padding;
      if (at < 0 || at >= extent) continue;
      span.begin = std::min(span.begin, at);
      span.end = at + 1;
    }
    return span;
  }

  int64_t planes;
  std::array<int64_t, 2> in{1, 1};
  std::array<int64_t, 2> out{1, 1};

 private:
  const PoolOp& op_;
  int first_;
};

/// Calls body(plane, dst position, rows, columns) for every output element.
template <typename PoolOp, typename Body>
void for_each_window(const Geometry<PoolOp>& g, Body&& body) {
  for (int64_t plane = 0; plane < g.planes; ++plane) {
    for (int64_t y = 0; y < g.out[0]; ++y) {
      for (int64_t x = 0; x < g.out[1]; ++x) {
        body(plane, (plane * g.out[0] + y) * g.out[1] + x, g.span(0, y), g.span(1, x));
      }
    }
  }
}

double divisor(const Span& rows, const Span& columns, bool count_padding) {
  return static_cast<double>(count_padding ? rows.with_padding * columns.with_padding
                                           : rows.count() * columns.count());
}

}  // namespace

// max: dst = the largest src of the window, position = where the first such lies in its plane.
// average: dst = sum of the window / (its pixels, with the padding's if they count).
void Pool::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                     const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  RefTensor& dst = outputs[0];
  const Geometry<Pool> g(*this, src.shape, dst.shape);
  for_each_window(g, [&](int64_t plane, int64_t d, const Span& rows, const Span& columns) {
    const int64_t image = plane * g.in[0] * g.in[1];
    int64_t best = rows.begin * g.in[1] + columns.begin;
    double sum = 0;
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
        const int64_t position = y * g.in[1] + x;
        sum += src[image + position];
        if (src[image + position] > src[image + best]) best = position;
      }
    }
    if (kind == PoolKind::max) {
      dst[d] = src[image + best];
      outputs[1][d] = static_cast<double>(best);
    } else {
      dst[d] = sum / divisor(rows, columns, count_padding);
    }
  });
}

// max: diff_src[position] += diff_dst; average: diff_src += diff_dst / divisor over the window.
void PoolBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                             const Step& /*step*/) const {
  const RefTensor& diff_dst = inputs[0];
  RefTensor& diff_src = outputs[0];
  std::fill(diff_src.values.begin(), diff_src.values.end(), 0.0);
  const Geometry<PoolBackward> g(*this, src_shape, diff_dst.shape);
  for_each_window(g, [&](int64_t plane, int64_t d, const Span& rows, const Span& columns) {
    const int64_t image = plane * g.in[0] * g.in[1];
    if (kind == PoolKind::max) {
      diff_src[image + static_cast<int64_t>(inputs[1][d])] += diff_dst[d];
      return;
    }
    for (int64_t y = rows.begin; y < rows.end; y += rows.step) {
      for (int64_t x = columns.begin; x < columns.end; x += columns.step) {
        diff_src[image + y * g.in[1] + x] += diff_dst[d] / divisor(rows, columns, count_padding);
      }
    }
  });
}

}  // namespace syrtos::ops
