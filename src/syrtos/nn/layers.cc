// The builder's layers with parameters: convolution, dense, batch norm.
#include <cmath>

#include "syrtos/nn/builder.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/matmul.h"

namespace syrtos::nn {

ValueId Builder::bias(ValueId x) {
  const ValueId b = parameter("bias", {DType::f32, {shape(x)[1]}}, 0, Initializer::constant(0));
  return made_of({x}, graph_.add_one(std::make_shared<ops::BiasAdd>(), {x, b}));
}

// States are f32: the cast for bf16 is one of a few values at each step.
ValueId Builder::frozen_kernel(const Shape& shape, const Initializer& initializer) {
  const ValueId kernel = state("weight", shape, initializer);
  if (compute_ == DType::f32) return kernel;
  return graph_.add_one(std::make_shared<ops::Cast>(compute_), {kernel});
}

// [N,C,spatial] -> [N,out,spatial']; weight [out, C / groups, kernel], bias [out]
ValueId Builder::conv(std::string_view name, ValueId x, const ConvOptions& options) {
  enter(name);
  if (options.groups < 1 || channels(x) % options.groups != 0 ||
      options.out % options.groups != 0) {
    fail_request("{}: expected groups that divide {} input and {} output channels, found {}",
                 layer_, channels(x), options.out, options.groups);
  }
  auto op = std::make_shared<ops::Conv>();
  op->window = window(x, options.kernel, options.stride, options.dilation, options.padding, false,
                      "convolution");
  if (!is_apart(x) && options.groups > 1) need_one_network("a grouped convolution of the input");
  op->groups = options.groups * (is_apart(x) ? members_ : 1);
  Shape weight{members_ * options.out, channels(x) / options.groups};
  for (int axis = 0; axis < op->window.axes; ++axis) {
    weight.append(op->window.kernel[static_cast<size_t>(axis)]);
  }
  const Initializer init = options.init.value_or(kernel_init_);
  const ValueId kernel = options.trainable ? parameter("weight", {compute_, weight}, 1, init)
                                           : frozen_kernel(weight, init);
  x = apart(graph_.add_one(std::move(op), {x, kernel}));
  return options.bias ? bias(x) : x;
}

// [N,in] -> [N,units]; weight [units, in], bias [units]
ValueId Builder::dense(std::string_view name, ValueId x, int64_t units,
                       const DenseOptions& options) {
  enter(name);
  if (is_apart(x)) return dense_of_members(x, units, options);
  const ValueId kernel = parameter("weight", {compute_, {members_ * units, channels(x)}}, 1,
                                   options.init.value_or(kernel_init_));
  auto op = std::make_shared<ops::MatMul>();
  op->transpose_b = true;
  op->f32_output = options.f32_output;
  x = apart(graph_.add_one(std::move(op), {x, kernel}));
  return options.bias ? bias(x) : x;
}

ValueId Builder::classifier(std::string_view name, ValueId x, int64_t classes) {
  // The usual 1/sqrt(in): with he_normal the first losses would be far above log(classes).
  const float bound = 1 / std::sqrt(static_cast<float>(channels(x)));
  return dense(name, x, classes, {.f32_output = true, .init = Initializer::uniform(bound)});
}

// [N,C,...] -> the same; weight (if scaled), bias, running_mean and running_var [C]
ValueId Builder::batch_norm(std::string_view name, ValueId x, const BatchNormOptions& options) {
  enter(name);
  const int64_t n = shape(x)[1];
  const TensorType per_channel{DType::f32, {n}};
  const Initializer zero = Initializer::constant(0);
  const Initializer one = Initializer::constant(1);
  ValueId gamma = graph::kNone;
  if (options.scale) {
    gamma = parameter("weight", per_channel, 0, one);
  } else {
    auto constant = std::make_shared<ops::Constant>();
    constant->type = per_channel;
    constant->value = 1;
    gamma = graph_.add_one(std::move(constant), {});
  }
  const float decay = options.beta_rate == 1 ? 0 : 1 / options.beta_rate;
  const ValueId beta = parameter("bias", per_channel, decay, zero, options.beta_rate);
  const ValueId mean = state("running_mean", {n}, zero);
  const ValueId variance = state("running_var", {n}, one);
  auto op = std::make_shared<ops::BatchNorm>();
  op->training = training_;
  op->epsilon = options.epsilon;
  op->momentum = options.momentum;
  op->synchronised = training_ && synchronised_;
  return made_of({x}, graph_.add_one(std::move(op), {x, gamma, beta, mean, variance}));
}

}  // namespace syrtos::nn
