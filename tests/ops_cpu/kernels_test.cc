// Every operation's kernel, forward and backward, against the naive references: each case builds
// one operation on parameters, compares its result with a target and lets the gradient flow back.

#include "syrtos/base/error.h"

#include "syrtos/graph/passes.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/batch_norm.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/dropout.h"
#include "syrtos/ops/element_loss.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/pool.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/slice.h"
#include "syrtos/ops/softmax.h"
#include "tests/support/kernel_case.h"

namespace syrtos {
namespace {

using graph::ValueId;
using test::Case;
using test::Context;

ops::Window window(int axes, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation = 1) {
  ops::Window w;
  w.axes = axes;
  for (size_t i = 0; i < static_cast<size_t>(axes); ++i) {
    w.kernel[i] = kernel;
    w.stride[i] = stride;
    w.pad_begin[i] = pad;
    w.pad_end[i] = pad;
    w.dilation[i] = dilation;
  }
  return w;
}

Case conv_case(std::string name, Shape src, Shape weights, ops::Window w, int64_t groups = 1) {
  return {std::move(name), [=](Context& c) {
            ops::Conv conv;
            conv.window = w;
            conv.groups = groups;
            return c.add(conv, {c.parameter("src", src), c.weights("weights", weights)});
          }};
}

Case pool_case(std::string name, ops::PoolKind kind, Shape src, ops::Window w,
               bool count_padding = false) {
  return {std::move(name), [=](Context& c) {
            ops::Pool pool;
            pool.kind = kind;
            pool.window = w;
            pool.count_padding = count_padding;
            return c.add(pool, {c.parameter("src", src)});
          }};
}

Case adaptive_case(std::string name, ops::PoolKind kind, Shape src, std::array<int64_t, 2> output) {
  return {std::move(name), [=](Context& c) {
            ops::Pool pool;
            pool.kind = kind;
            pool.window.axes = src.rank() - 2;
            pool.adaptive = true;
            pool.output = output;
            return c.add(pool, {c.parameter("src", src)});
          }};
}

Case activation_case(std::string name, ops::ActivationKind kind) {
  return {std::move(name), [=](Context& c) {
            return c.add(ops::Activation(kind), {c.parameter("src", {3, 7, 5, 2})});
          }};
}

Case conv_bias_relu_case(std::string name, Shape src, Shape weights, ops::Window w) {
  return {std::move(name), [=](Context& c) {
            ops::Conv conv;
            conv.window = w;
            const ValueId y = c.add(conv, {c.parameter("src", src), c.weights("weights", weights)});
            const ValueId z = c.add(ops::BiasAdd(), {y, c.f32_parameter("bias", {weights[0]})});
            return c.add(ops::Activation(ops::ActivationKind::relu), {z});
          }};
}

ValueId batch_norm(Context& c, const std::string& prefix, ValueId src, int64_t channels) {
  const ValueId gamma = c.f32_parameter((prefix + "gamma").c_str(), {channels});
  const ValueId beta = c.f32_parameter((prefix + "beta").c_str(), {channels});
  const ValueId mean = c.graph.add_state(prefix + "mean", {DType::f32, {channels}});
  const ValueId var = c.graph.add_state(prefix + "var", {DType::f32, {channels}});
  return c.add(ops::BatchNorm(), {src, gamma, beta, mean, var});
}

Case concat_case(std::string name, int axis, Shape a, Shape b) {
  return {std::move(name), [=](Context& c) {
            ops::Concat concat;
            concat.axis = axis;
            return c.add(concat, {c.parameter("a", a), c.parameter("b", b)});
          }};
}

Case reduce_case(std::string name, ops::ReduceKind kind, const std::vector<int>& axes,
                 Shape src = {3, 4, 5, 2}) {
  return {std::move(name), [=](Context& c) {
            ops::Reduce reduce;
            reduce.kind = kind;
            reduce.axes = axes;
            return c.add(reduce, {c.parameter("src", src)});
          }};
}

Case matmul_case(std::string name, bool transpose_a, bool transpose_b) {
  return {std::move(name), [=](Context& c) {
            ops::MatMul matmul;
            matmul.transpose_a = transpose_a;
            matmul.transpose_b = transpose_b;
            return c.add(matmul, {c.parameter("a", transpose_a ? Shape{11, 5} : Shape{5, 11}),
                                  c.weights("b", transpose_b ? Shape{7, 11} : Shape{11, 7})});
          }};
}

/// Of the squares of what is drawn, and a little more, where negative numbers have no result.
Case pointwise_case(std::string name, ops::PointwiseKind kind, float alpha = 0, float beta = 0,
                    bool positive = false) {
  return {std::move(name), [=](Context& c) {
            ValueId src = c.parameter("src", {3, 7, 5, 2});
            if (positive) {
              src = c.add(ops::Multiply(), {src, src});
              src = c.add(ops::Pointwise(ops::PointwiseKind::clip, 0.25F, 2.0F), {src});
            }
            return c.add(ops::Pointwise(kind, alpha, beta), {src});
          }};
}

Case binary_case(std::string name, ops::BinaryKind kind, Shape a, Shape b, bool positive = false) {
  return {std::move(name), [=](Context& c) {
            ValueId x = c.parameter("a", a);
            ValueId y = c.parameter("b", b);
            if (positive) {
              x = c.add(ops::Pointwise(ops::PointwiseKind::clip, 0.25F, 2.0F),
                        {c.add(ops::Multiply(), {x, x})});
              y = c.add(ops::Pointwise(ops::PointwiseKind::clip, 0.25F, 2.0F),
                        {c.add(ops::Multiply(), {y, y})});
            }
            return c.add(ops::Binary(kind), {x, y});
          }};
}

std::vector<Case> cases_of_numbers() {
  using ops::BinaryKind;
  using ops::PointwiseKind;
  return {
      pointwise_case("negative", PointwiseKind::negative),
      pointwise_case("absolute", PointwiseKind::absolute),
      pointwise_case("square_root", PointwiseKind::square_root, 0, 0, true),
      pointwise_case("exponential", PointwiseKind::exponential),
      pointwise_case("logarithm", PointwiseKind::logarithm, 0, 0, true),
      pointwise_case("erf", PointwiseKind::erf),
      pointwise_case("reciprocal", PointwiseKind::reciprocal, 0, 0, true),
      pointwise_case("leaky_relu", PointwiseKind::leaky_relu, 0.1F),
      pointwise_case("elu", PointwiseKind::elu, 1.5F),
      pointwise_case("softplus", PointwiseKind::softplus),
      pointwise_case("hard_sigmoid", PointwiseKind::hard_sigmoid, 0.9F, 0.5F),
      pointwise_case("hard_swish", PointwiseKind::hard_swish),
      pointwise_case("clip", PointwiseKind::clip, -0.3F, 0.6F),
      pointwise_case("exact_gelu", PointwiseKind::exact_gelu),
      pointwise_case("silu", PointwiseKind::silu),
      binary_case("add_channels", BinaryKind::add, {3, 6, 4, 5}, {6, 1, 1}),
      binary_case("add_pixels", BinaryKind::add, {3, 6, 4, 5}, {4, 5}),
      binary_case("add_of_each_sample", BinaryKind::add, {3, 6, 4, 5}, {6, 4, 5}),
      binary_case("subtract_both_repeated", BinaryKind::subtract, {3, 1, 4}, {1, 6, 1}),
      binary_case("multiply_gate", BinaryKind::multiply, {3, 6, 4, 5}, {3, 6, 1, 1}),
      binary_case("multiply_last", BinaryKind::multiply, {3, 7, 20}, {20}),
      binary_case("multiply_first_repeated", BinaryKind::multiply, {1}, {3, 7}),
      binary_case("divide", BinaryKind::divide, {3, 6, 4}, {3, 1, 4}, true),
      binary_case("power", BinaryKind::power, {3, 6, 4}, {4}, true),
      binary_case("minimum", BinaryKind::minimum, {3, 6, 4, 2}, {3, 6, 4, 2}),
      binary_case("maximum", BinaryKind::maximum, {3, 6, 4, 2}, {6, 1, 2}),
  };
}

std::vector<Case> cases() {
  using ops::ActivationKind;
  using ops::PoolKind;
  std::vector<Case> all{
      conv_case("conv_3x3", {2, 3, 7, 6}, {5, 3, 3, 3}, window(2, 3, 1, 1)),
      conv_case("conv_3x3_16_channels", {2, 16, 6, 6}, {32, 16, 3, 3}, window(2, 3, 1, 1)),
      conv_case("conv_3x3_large", {3, 64, 17, 16}, {80, 64, 3, 3}, window(2, 3, 1, 1)),
      conv_bias_relu_case("conv_3x3_large_bias_relu", {2, 64, 16, 16}, {64, 64, 3, 3},
                          window(2, 3, 1, 1)),
      conv_case("conv_stride", {2, 4, 9, 9}, {6, 4, 3, 3}, window(2, 3, 2, 1)),
      conv_case("conv_dilation", {2, 4, 9, 9}, {6, 4, 3, 3}, window(2, 3, 1, 2, 2)),
      conv_case("conv_1x1", {3, 17, 4, 4}, {33, 17, 1, 1}, window(2, 1, 1, 0)),
      conv_case("conv_1x1_stride", {3, 16, 4, 4}, {33, 16, 1, 1}, window(2, 1, 2, 0)),
      conv_case("conv_3x3_on_one_pixel", {3, 16, 1, 1}, {16, 16, 3, 3}, window(2, 3, 1, 1)),
      conv_case("conv_5x5_one_channel", {2, 1, 12, 12}, {6, 1, 5, 5}, window(2, 5, 1, 0)),
      conv_case("conv_11x11_stride_4", {2, 3, 27, 27}, {8, 3, 11, 11}, window(2, 11, 4, 2)),
      conv_case("conv_groups", {2, 8, 6, 6}, {12, 4, 3, 3}, window(2, 3, 1, 1), 2),
      conv_case("conv_depthwise", {2, 8, 6, 6}, {8, 1, 3, 3}, window(2, 3, 1, 1), 8),
      conv_case("conv_1d", {2, 3, 20}, {5, 3, 4}, window(1, 4, 2, 1)),
      conv_case("conv_1d_16_channels", {2, 16, 20}, {16, 16, 5}, window(1, 5, 1, 2)),
      {"conv_asymmetric",
       [](Context& c) {
         ops::Conv conv;
         conv.window = window(2, 3, 2, 0);
         conv.window.pad_end = {1, 1};
         return c.add(conv, {c.parameter("src", {2, 4, 8, 8}), c.weights("w", {6, 4, 3, 3})});
       }},
      conv_bias_relu_case("conv_bias_relu", {2, 6, 5, 5}, {16, 6, 3, 3}, window(2, 3, 1, 1)),
      matmul_case("matmul", false, false),
      matmul_case("matmul_ta", true, false),
      matmul_case("matmul_tb", false, true),
      matmul_case("matmul_ta_tb", true, true),
      {"dense_large",
       [](Context& c) {
         ops::MatMul matmul;
         matmul.transpose_b = true;
         const ValueId y =
             c.add(matmul, {c.parameter("src", {19, 160}), c.weights("w", {130, 160})});
         const ValueId z = c.add(ops::BiasAdd(), {y, c.f32_parameter("bias", {130})});
         return c.add(ops::Activation(ActivationKind::relu), {z});
       }},
      {"dense_bias_relu",
       [](Context& c) {
         ops::MatMul matmul;
         matmul.transpose_b = true;
         const ValueId y = c.add(matmul, {c.parameter("src", {5, 20}), c.weights("w", {9, 20})});
         const ValueId z = c.add(ops::BiasAdd(), {y, c.f32_parameter("bias", {9})});
         return c.add(ops::Activation(ActivationKind::relu), {z});
       }},
      {"bias_add",
       [](Context& c) {
         return c.add(ops::BiasAdd(),
                      {c.parameter("src", {3, 6, 4, 5}), c.f32_parameter("bias", {6})});
       }},
      {"batch_norm",
       [](Context& c) {
         return batch_norm(c, "", c.parameter("src", {4, 6, 5, 3}), 6);
       }},
      {"batch_norm_rank_2",
       [](Context& c) {
         return batch_norm(c, "", c.parameter("src", {16, 20}), 20);
       }},
      {"batch_norm_relu",
       [](Context& c) {
         const ValueId y = batch_norm(c, "", c.parameter("src", {4, 16, 5, 3}), 16);
         return c.add(ops::Activation(ActivationKind::relu), {y});
       }},
      {"batch_norm_add_relu",
       [](Context& c) {
         const ValueId y = batch_norm(c, "", c.parameter("src", {4, 16, 5, 3}), 16);
         const ValueId z = c.add(ops::Add(), {y, c.parameter("residual", {4, 16, 5, 3})});
         return c.add(ops::Activation(ActivationKind::relu), {z});
       }},
      {"two_batch_norms_add_relu",
       [](Context& c) {
         const ValueId src = c.parameter("src", {4, 16, 5, 3});
         const ValueId a = batch_norm(c, "a.", src, 16);
         const ValueId b = batch_norm(c, "b.", src, 16);
         return c.add(ops::Activation(ActivationKind::relu), {c.add(ops::Add(), {a, b})});
       }},
      {"lrn",
       [](Context& c) {
         ops::LocalResponseNorm lrn;
         lrn.alpha = 0.5F;
         return c.add(lrn, {c.parameter("src", {2, 16, 4, 3})});
       }},
      pool_case("max_pool", PoolKind::max, {2, 5, 8, 6}, window(2, 2, 2, 0)),
      pool_case("max_pool_overlapping", PoolKind::max, {2, 16, 9, 7}, window(2, 3, 2, 1)),
      pool_case("max_pool_1d", PoolKind::max, {2, 5, 12}, window(1, 3, 3, 0)),
      pool_case("average_pool", PoolKind::average, {2, 5, 8, 6}, window(2, 2, 2, 0)),
      pool_case("average_pool_padded", PoolKind::average, {2, 16, 9, 7}, window(2, 3, 2, 1)),
      pool_case("average_pool_counts_padding", PoolKind::average, {2, 4, 9, 7}, window(2, 3, 2, 1),
                true),
      adaptive_case("global_average_pool", PoolKind::average, {3, 20, 4, 5}, {1, 1}),
      adaptive_case("adaptive_average_pool", PoolKind::average, {2, 6, 7, 5}, {3, 2}),
      adaptive_case("adaptive_average_pool_up", PoolKind::average, {2, 6, 1, 1}, {6, 6}),
      adaptive_case("adaptive_max_pool", PoolKind::max, {2, 6, 7, 5}, {3, 2}),
      adaptive_case("global_max_pool", PoolKind::max, {2, 6, 7, 5}, {1, 1}),
      activation_case("relu", ActivationKind::relu),
      activation_case("sigmoid", ActivationKind::sigmoid),
      activation_case("tanh", ActivationKind::tanh),
      {"gelu",
       [](Context& c) {
         return c.add(ops::Gelu(), {c.parameter("src", {3, 7, 5, 2})});
       }},
      {"softmax",
       [](Context& c) {
         return c.add(ops::Softmax(false), {c.parameter("src", {6, 11})});
       }},
      {"log_softmax",
       [](Context& c) {
         return c.add(ops::Softmax(true), {c.parameter("src", {6, 11})});
       }},
      {"dropout",
       [](Context& c) {
         ops::Dropout dropout;
         dropout.rate = 0.4F;
         dropout.layer = 2;
         return c.add(dropout, {c.parameter("src", {6, 100})});
       }},
      {"dropout_of_images",
       [](Context& c) {
         ops::Dropout dropout;
         dropout.rate = 0.25F;
         return c.add(dropout, {c.parameter("src", {3, 10, 4, 4})});
       }},
      concat_case("concat_channels", 1, {2, 3, 4, 5}, {2, 6, 4, 5}),
      concat_case("concat_batch", 0, {2, 3, 4, 5}, {1, 3, 4, 5}),
      concat_case("concat_rank_2", 1, {4, 3}, {4, 2}),
      {"slice",
       [](Context& c) {
         ops::Slice slice;
         slice.begin = {0, 1, 0, 1};
         slice.size = {2, 3, 2, 3};
         slice.stride = {1, 1, 2, 1};
         return c.add(slice, {c.parameter("src", {2, 5, 4, 6})});
       }},
      {"pad",
       [](Context& c) {
         ops::Pad pad;
         pad.before = {0, 0, 1, 0};
         pad.after = {0, 3, 0, 2};
         pad.between = {0, 0, 1, 0};
         return c.add(pad, {c.parameter("src", {2, 5, 3, 2})});
       }},
      {"add",
       [](Context& c) {
         return c.add(ops::Add(), {c.parameter("a", {2, 5, 3, 2}), c.parameter("b", {2, 5, 3, 2}),
                                   c.parameter("c", {2, 5, 3, 2})});
       }},
      {"multiply",
       [](Context& c) {
         return c.add(ops::Multiply(),
                      {c.parameter("a", {2, 5, 3, 2}), c.parameter("b", {2, 5, 3, 2})});
       }},
      {"scale",
       [](Context& c) {
         return c.add(ops::Scale(0.3F), {c.parameter("a", {2, 5, 3, 2})});
       }},
      {"reshape",
       [](Context& c) {
         return c.add(ops::Reshape(Shape{2, 30}), {c.parameter("a", {2, 5, 3, 2})});
       }},
      reduce_case("reduce_sum_all", ops::ReduceKind::sum, {0, 1, 2, 3}),
      reduce_case("reduce_mean_spatial", ops::ReduceKind::mean, {2, 3}),
      reduce_case("reduce_sum_batch", ops::ReduceKind::sum, {0}),
      reduce_case("reduce_mean_channels", ops::ReduceKind::mean, {1}),
  };
  std::ranges::move(cases_of_numbers(), std::back_inserter(all));
  return all;
}

class Kernels : public testing::TestWithParam<std::tuple<Case, DType, bool>> {};

TEST_P(Kernels, MatchTheReference) {
  const auto& [test, dtype, fused] = GetParam();
  test::expect_case_matches(test, dtype, fused);
}

INSTANTIATE_TEST_SUITE_P(All, Kernels,
                         testing::Combine(testing::ValuesIn(cases()),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Bool()),
                         test::case_name);

// Losses on labels: logits are f32 or bf16, labels s32.
class Losses : public testing::TestWithParam<std::tuple<float, DType, bool>> {};

TEST_P(Losses, MatchTheReference) {
  const auto& [smoothing, dtype, fused] = GetParam();
  Context c{{}, dtype};
  const ValueId logits = c.parameter("logits", {8, 10});
  const ValueId labels = c.graph.add_input("labels", {DType::s32, {8}});
  ops::CrossEntropy cross_entropy;
  cross_entropy.smoothing = smoothing;
  const ValueId log_p = c.add(ops::Softmax(true), {logits});
  const ValueId loss = c.add(cross_entropy, {log_p, labels});
  c.graph.set_output("loss", loss);
  graph::add_gradients(c.graph, loss);
  if (fused) graph::optimise(c.graph);
  test::expect_matches_reference(c.graph, dtype == DType::f32 ? 1e-5 : 2e-2);
}

INSTANTIATE_TEST_SUITE_P(All, Losses,
                         testing::Combine(testing::Values(0.0F, 0.2F),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Bool()));

TEST(Losses, OfWeightedClassesMatchTheReference) {
  for (const bool fused : {false, true}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Context c{{}, dtype};
      const ValueId labels = c.graph.add_input("labels", {DType::s32, {8}});
      ops::CrossEntropy cross_entropy;
      cross_entropy.smoothing = 0.1F;
      cross_entropy.class_weights = {0.5F, 3.0F, 1.0F, 0.0F};
      const ValueId log_p = c.add(ops::Softmax(true), {c.parameter("logits", {8, 4})});
      const ValueId loss = c.add(cross_entropy, {log_p, labels});
      c.graph.set_output("loss", loss);
      graph::add_gradients(c.graph, loss);
      if (fused) graph::optimise(c.graph);
      test::expect_matches_reference(c.graph, dtype == DType::f32 ? 1e-5 : 2e-2, 1, 4);
    }
  }
}

TEST(Losses, OfElementsMatchTheReference) {
  using ops::ElementLossKind;
  for (const auto kind :
       {ElementLossKind::absolute, ElementLossKind::huber, ElementLossKind::binary_cross_entropy}) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      Context c{{}, dtype};
      const ValueId target = c.graph.add_input("target", {dtype, {8, 3, 5, 2}});
      const ValueId loss =
          c.add(ops::ElementLoss(kind, 0.7F), {c.parameter("prediction", {8, 3, 5, 2}), target});
      c.graph.set_output("loss", loss);
      graph::add_gradients(c.graph, loss);
      test::expect_matches_reference(c.graph, dtype == DType::f32 ? 1e-5 : 2e-2);
    }
  }
}

TEST(Losses, LabelOutOfRangeIsAnError) {
  Context c{{}, DType::f32};
  const ValueId logits = c.parameter("logits", {4, 3});
  const ValueId labels = c.graph.add_input("labels", {DType::s32, {4}});
  const ValueId log_p = c.add(ops::Softmax(true), {logits});
  c.graph.set_output("loss", c.add(ops::CrossEntropy(), {log_p, labels}));
  graph::optimise(c.graph);
  const auto backend = ops::cpu::make_backend();
  const auto program = graph::compile(c.graph, *backend, std::make_shared<graph::Parameters>());
  program->set_input("labels", Tensor::from({4}, {0, 1, 3, 2}));
  EXPECT_THROW(program->run({}), RunError);
}

TEST(Penalties, L2MatchesTheReference) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Context c{{}, dtype};
    ops::Conv conv;
    conv.window = window(2, 3, 1, 1);
    const ValueId weights = c.weights("weights", {16, 4, 3, 3});
    const ValueId y = c.add(conv, {c.parameter("src", {2, 4, 5, 5}), weights});
    const ValueId target = c.graph.add_input("target", c.graph.type(y));
    const ValueId error = c.add(ops::HalfSquaredError(), {y, target});
    const ValueId penalty = c.add(ops::L2Penalty(0.5F), {weights});
    const ValueId loss = c.add(ops::Add(), {error, penalty});
    c.graph.set_output("loss", loss);
    graph::add_gradients(c.graph, loss);
    test::expect_matches_reference(c.graph, dtype == DType::f32 ? 1e-5 : 3e-2);
  }
}

}  // namespace
}  // namespace syrtos
