// Normalisations, softmax, reductions, dropout.
#include "syrtos/onnx/importer.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::onnx {
namespace {

using ops::PointwiseKind;

void batch_normalization(const Call& call) {
  if (call.integer("spatial", 1) == 0) call.fail("expected one scale for each channel (spatial)");
  auto op = std::make_shared<ops::BatchNorm>();
  op->training = call.builder().training();
  op->epsilon = call.number("epsilon", 1e-5F);
  // ONNX says how much of the old statistics stays, we how much of the new ones comes.
  op->momentum = 1 - call.number("momentum", 0.9F);
  op->synchronised = op->training && call.builder().synchronises_batch_norm();
  const ValueId x = call.computed(0);
  const ValueId gamma = call.tensor(1, Role::scale);
  const ValueId beta = call.tensor(2, Role::bias);
  const ValueId mean = call.running(3, 0);
  const ValueId variance = call.running(4, 1);
  call.result(call.add(std::move(op), {x, gamma, beta, mean, variance}));
}

/// An optional scale or shift.
ValueId optional(const Call& call, size_t input, Role role) {
  return call.has(input) ? call.tensor(input, role) : graph::kNone;
}

void layer_normalization(const Call& call) {
  const int axis = call.axis(call.integer("axis", -1), call.shape(0).rank());
  const float epsilon = call.number("epsilon", 1e-5F);
  const ValueId x = call.computed(0);
  call.result(ops::layer_norm(call.graph(), x, axis, optional(call, 1, Role::scale),
                              optional(call, 2, Role::bias), epsilon));
  if (!call.is_used(1) && !call.is_used(2)) return;
  // Mean and 1 / deviation of each row, with the row's axes as 1: from x itself, since gradients
  // pass through the first result of a normalisation alone.
  const auto add = [&](auto op, ValueId value) { return call.add(std::move(op), {value}); };
  std::vector<int64_t> row;
  for (int i = axis; i < call.shape(0).rank(); ++i) row.push_back(i);
  const ValueId wide = ops::cast(call.graph(), x, DType::f32);
  const ValueId mean = ops::reduce(call.graph(), wide, ops::ReduceKind::mean, row, true);
  const ValueId from_mean = ops::binary(call.graph(), ops::BinaryKind::subtract, wide, mean);
  const ValueId squares = call.add(std::make_shared<ops::Multiply>(), {from_mean, from_mean});
  const ValueId variance = ops::reduce(call.graph(), squares, ops::ReduceKind::mean, row, true);
  const ValueId safe = ops::binary(call.graph(), ops::BinaryKind::add, variance,
                                   ops::literal(call.graph(), Tensor::from({1}, {epsilon})));
  const ValueId deviation = add(std::make_shared<ops::Pointwise>(PointwiseKind::square_root), safe);
  call.result(mean, 1);
  call.result(add(std::make_shared<ops::Pointwise>(PointwiseKind::reciprocal), deviation), 2);
}

/// One number for each group, until operator set 21, is repeated for its channels.
ValueId per_channel(const Call& call, size_t input, Role role, int64_t groups, int64_t channels) {
  const ValueId value = call.tensor(input, role);
  const Shape shape = call.builder().shape(value);
  if (shape == Shape{channels}) return value;
  if (!(shape == Shape{groups})) {
    call.fail("expected a scale or shift of [{}], found {}", channels, to_string(shape));
  }
  const ValueId column = ops::reshape(call.graph(), value, {groups, 1});
  return ops::reshape(call.graph(), ops::expand(call.graph(), column, {groups, channels / groups}),
                      {channels});
}

void group_normalization(const Call& call) {
  const int64_t groups = call.integer("num_groups", 1);
  const int64_t channels = call.shape(0).rank() > 1 ? call.shape(0)[1] : 0;
  if (groups < 1 || channels < 1 || channels % groups != 0) {
    call.fail("expected groups that divide {} channels, found {}", channels, groups);
  }
  call.result(ops::group_norm(
      call.graph(), call.computed(0), groups, per_channel(call, 1, Role::scale, groups, channels),
      per_channel(call, 2, Role::bias, groups, channels), call.number("epsilon", 1e-5F)));
}

void instance_normalization(const Call& call) {
  const Shape shape = call.shape(0);
  if (shape.rank() < 2) call.fail("expected [batch, channels, ...], found {}", to_string(shape));
  call.result(ops::group_norm(call.graph(), call.computed(0), shape[1], call.tensor(1, Role::scale),
                              call.tensor(2, Role::bias), call.number("epsilon", 1e-5F)));
}

void lrn(const Call& call) {
  auto op = std::make_shared<ops::LocalResponseNorm>();
  op->size = call.integer("size", 0);
  op->alpha = call.number("alpha", 1e-4F);
  op->beta = call.number("beta", 0.75F);
  op->k = call.number("bias", 1);
  if (op->size < 1 || op->size > 4096) {
    call.fail("expected a size of 1 or more, found {}", op->size);
  }
  call.result(call.add(std::move(op), {call.computed(0)}));
}

/// Until operator set 13 over all axes from the given one on, since then over that one alone.
template <bool logarithm>
void softmax(const Call& call) {
  const Shape shape = call.shape(0);
  const int axis = call.axis(call.integer("axis", call.opset() < 13 ? 1 : -1), shape.rank());
  const ValueId x = call.computed(0);
  if (call.opset() >= 13) return call.result(ops::softmax(call.graph(), x, axis, logarithm));
  const int64_t classes = shape.elements_from(axis);
  const ValueId flat = ops::reshape(call.graph(), x, {shape.elements() / classes, classes});
  call.result(ops::reshape(call.graph(), ops::softmax(call.graph(), flat, 1, logarithm), shape));
}

/// Without axes over all of them, or, if the node says so, over none.
template <ops::ReduceKind kind>
void reduce(const Call& call) {
  const std::vector<int64_t> axes = call.attribute_or_input("axes", 1);
  if (axes.empty() && call.integer("noop_with_empty_axes", 0) != 0) {
    return call.result(call.computed(0));
  }
  const bool keep = call.integer("keepdims", 1) != 0;
  const Shape from = call.shape(0);
  const bool pixels = kind == ops::ReduceKind::mean && from.rank() == 4 && axes.size() == 2 &&
                      call.axis(axes[0], 4) + call.axis(axes[1], 4) == 5 &&
                      call.axis(axes[0], 4) >= 2;
  // The mean over all pixels is what exporters make of global pooling.
  if (pixels) {
    const ValueId pooled = ops::global_pool(call.graph(), call.computed(0), ops::PoolKind::average);
    return call.result(keep ? pooled : ops::reshape(call.graph(), pooled, {from[0], from[1]}));
  }
  call.result(ops::reduce(call.graph(), call.computed(0), kind, axes, keep));
}

/// Since operator set 12 the rate is an input.
void dropout(const Call& call) {
  float rate = call.number("ratio", 0.5F);
  if (call.has(1)) rate = static_cast<float>(call.one_number(1, "a rate"));
  if (!(rate >= 0 && rate < 1)) {
    call.fail("expected a rate of at least 0 and below 1, found {}", rate);
  }
  call.result(call.builder().dropout(call.computed(0), rate));
}

}  // namespace

const Rules& norm_rules() {
  static const Rules rules = {
      {"BatchNormalization", batch_normalization},
      {"LayerNormalization", layer_normalization},
      {"GroupNormalization", group_normalization},
      {"InstanceNormalization", instance_normalization},
      {"LRN", lrn},
      {"Softmax", softmax<false>},
      {"LogSoftmax", softmax<true>},
      {"ReduceMean", reduce<ops::ReduceKind::mean>},
      {"ReduceSum", reduce<ops::ReduceKind::sum>},
      {"ReduceMax", reduce<ops::ReduceKind::max>},
      {"Dropout", dropout},
  };
  return rules;
}

}  // namespace syrtos::onnx
