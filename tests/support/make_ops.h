#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/dropout.h"
#include "syrtos/ops/element_loss.h"
#include "syrtos/ops/group_norm.h"
#include "syrtos/ops/layer_norm.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pool.h"
#include "syrtos/ops/recurrence.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/slice.h"

namespace syrtos::test {

// Operations in one line each, with the attributes that tests vary.

inline ops::Window window_2d(int64_t kernel, int64_t stride = 1, int64_t pad = 0) {
  ops::Window window;
  window.kernel = {kernel, kernel};
  window.stride = {stride, stride};
  window.pad_begin = window.pad_end = {pad, pad};
  return window;
}

inline ops::Window window_1d(int64_t kernel, int64_t stride = 1, int64_t pad = 0) {
  ops::Window window = window_2d(kernel, stride, pad);
  window.axes = 1;
  return window;
}

inline std::shared_ptr<ops::Conv> conv(const ops::Window& window, int64_t groups = 1) {
  auto op = std::make_shared<ops::Conv>();
  op->window = window;
  op->groups = groups;
  return op;
}

inline std::shared_ptr<ops::ConvBackwardData> conv_transpose(const ops::Window& window,
                                                             Shape result) {
  auto op = std::make_shared<ops::ConvBackwardData>();
  op->window = window;
  op->src_shape = result;
  return op;
}

inline std::shared_ptr<ops::Recurrence> recurrence(ops::RecurrenceKind kind, bool reverse = false) {
  auto op = std::make_shared<ops::Recurrence>();
  op->kind = kind;
  op->reverse = reverse;
  return op;
}

inline std::shared_ptr<ops::MatMul> matmul(bool transpose_a, bool transpose_b) {
  auto op = std::make_shared<ops::MatMul>();
  op->transpose_a = transpose_a;
  op->transpose_b = transpose_b;
  return op;
}

inline std::shared_ptr<ops::BatchNorm> batch_norm(bool training = true) {
  auto op = std::make_shared<ops::BatchNorm>();
  op->training = training;
  return op;
}

/// With an alpha that makes the neighbours matter.
inline std::shared_ptr<ops::LocalResponseNorm> lrn(int64_t size = 3) {
  auto op = std::make_shared<ops::LocalResponseNorm>();
  op->size = size;
  op->alpha = 0.5F;
  op->k = 2;
  return op;
}

inline std::shared_ptr<ops::Pool> pool(ops::PoolKind kind, const ops::Window& window,
                                       bool count_padding = false) {
  auto op = std::make_shared<ops::Pool>();
  op->kind = kind;
  op->window = window;
  op->count_padding = count_padding;
  return op;
}

inline std::shared_ptr<ops::Pool> adaptive_pool(ops::PoolKind kind, int64_t height, int64_t width) {
  auto op = std::make_shared<ops::Pool>();
  op->kind = kind;
  op->adaptive = true;
  op->output = {height, width};
  return op;
}

/// Counts padding, in ceil mode.
inline std::shared_ptr<ops::Pool> overhanging(ops::PoolKind kind, const ops::Window& window,
                                              const Shape& src) {
  auto op = pool(kind, window, true);
  op->overhang = ops::overhang_of(window, src);
  return op;
}

inline std::shared_ptr<ops::LayerNorm> layer_norm(int axis) {
  auto op = std::make_shared<ops::LayerNorm>();
  op->axis = axis;
  return op;
}

inline std::shared_ptr<ops::GroupNorm> group_norm(int64_t groups) {
  auto op = std::make_shared<ops::GroupNorm>();
  op->groups = groups;
  return op;
}

inline std::shared_ptr<ops::Dropout> dropout(float rate, uint32_t layer = 0) {
  auto op = std::make_shared<ops::Dropout>();
  op->rate = rate;
  op->layer = layer;
  return op;
}

inline std::shared_ptr<ops::Concat> concat(int axis) {
  auto op = std::make_shared<ops::Concat>();
  op->axis = axis;
  return op;
}

inline std::shared_ptr<ops::Slice> slice(Shape begin, Shape size, Shape stride) {
  auto op = std::make_shared<ops::Slice>();
  op->begin = begin;
  op->size = size;
  op->stride = stride;
  return op;
}

inline std::shared_ptr<ops::Pad> pad(Shape before, Shape after, Shape between) {
  auto op = std::make_shared<ops::Pad>();
  op->before = before;
  op->after = after;
  op->between = between;
  return op;
}

inline std::shared_ptr<ops::Reduce> reduce(bool mean, std::vector<int> axes) {
  auto op = std::make_shared<ops::Reduce>();
  op->kind = mean ? ops::ReduceKind::mean : ops::ReduceKind::sum;
  op->axes = std::move(axes);
  return op;
}

inline std::shared_ptr<ops::Reduce> reduce_max(std::vector<int> axes) {
  auto op = reduce(false, std::move(axes));
  op->kind = ops::ReduceKind::max;
  return op;
}

/// From rows of (index, weight), on an axis of three.
inline std::shared_ptr<ops::AxisMap> axis_map(
    int axis, const std::vector<std::vector<std::pair<int64_t, float>>>& rows) {
  auto map = std::make_shared<ops::SparseRows>();
  map->columns = 3;
  for (const auto& row : rows) {
    for (const auto& [index, weight] : row) map->add(index, weight);
    map->end_row();
  }
  return std::make_shared<ops::AxisMap>(axis, map);
}

inline std::shared_ptr<ops::Broadcast> broadcast(Shape shape, std::vector<int> axes,
                                                 float factor = 1) {
  auto op = std::make_shared<ops::Broadcast>();
  op->shape = shape;
  op->axes = std::move(axes);
  op->factor = factor;
  return op;
}

inline std::shared_ptr<ops::CrossEntropy> cross_entropy(float smoothing = 0,
                                                        std::vector<float> class_weights = {}) {
  auto op = std::make_shared<ops::CrossEntropy>();
  op->smoothing = smoothing;
  op->class_weights = std::move(class_weights);
  return op;
}

inline std::shared_ptr<ops::ElementLoss> element_loss(ops::ElementLossKind kind, float delta = 1) {
  return std::make_shared<ops::ElementLoss>(kind, delta);
}

}  // namespace syrtos::test
