#pragma once

#include "syrtos/tensor/shape.h"

namespace syrtos::ops {

/// Calls body(index, position) for every element of a shape in row-major order; index has one
/// number per axis.
template <typename Body>
void for_each_index(const Shape& shape, Body&& body) {
  Shape index = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) index[axis] = 0;
  const int64_t elements = shape.elements();
  for (int64_t position = 0; position < elements; ++position) {
    body(static_cast<const Shape&>(index), position);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
}

/// Row-major position of an index.
inline int64_t position_of(const Shape& shape, const Shape& index) {
  int64_t position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) position = position * shape[axis] + index[axis];
  return position;
}

/// A tensor [outer, channels, inner] as references see any activation: inner are all pixels.
struct Planes {
  int64_t batch;
  int64_t channels;
  int64_t pixels;

  explicit Planes(const Shape& shape)
      : batch(shape[0]), channels(shape[1]), pixels(shape.elements_from(2)) {}
  int64_t at(int64_t n, int64_t c, int64_t p) const { return (n * channels + c) * pixels + p; }
};

}  // namespace syrtos::ops
