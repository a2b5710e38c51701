// Kernels that move, choose and reduce elements, and products of several matrices, against the
// naive references; also where values lie channels-last and where they have become plain.

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/literal.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/ops/pool.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/resizing.h"
#include "syrtos/ops/shaping.h"
#include "syrtos/ops/softmax.h"
#include "tests/support/kernel_case.h"

namespace syrtos {
namespace {

using graph::ValueId;
using ops::ReduceKind;
using test::Case;
using test::Context;

using Axes = std::vector<int64_t>;

/// What comes out of a convolution: an image that lies channels-last.
ValueId image(Context& c, Shape shape) {
  ops::Conv conv;
  const ValueId src = c.parameter("src", shape);
  const ValueId weights = c.weights("weights", {shape[1], shape[1], 1, 1});
  return c.add(conv, {src, weights});
}

Case transpose_case(std::string name, Shape shape, Axes order) {
  return {std::move(name), [=](Context& c) {
            const ValueId y = ops::transpose(c.graph, c.parameter("src", shape), order);
            return c.add(ops::Activation(ops::ActivationKind::tanh), {y});
          }};
}

Case matmul_case(std::string name, Shape a, Shape b, bool transpose_a = false,
                 bool transpose_b = false) {
  return {std::move(name), [=](Context& c) {
            ops::MatMul matmul;
            matmul.transpose_a = transpose_a;
            matmul.transpose_b = transpose_b;
            return c.add(matmul, {c.parameter("a", a), c.parameter("b", b)});
          }};
}

Case reduce_case(std::string name, ReduceKind kind, Axes axes, Shape shape, bool of_image = false) {
  return {std::move(name), [=](Context& c) {
            const ValueId src = of_image ? image(c, shape) : c.parameter("src", shape);
            return ops::reduce(c.graph, src, kind, axes, true);
          }};
}

Case resize_case(std::string name, ops::ResizeMode mode, int64_t height, int64_t width) {
  return {std::move(name), [=](Context& c) {
            ops::ResizeOptions options;
            options.mode = mode;
            const std::vector<ops::ResizedAxis> axes{{2, height, static_cast<double>(height) / 5},
                                                     {3, width, static_cast<double>(width) / 4}};
            return ops::resize(c.graph, image(c, {2, 6, 5, 4}), axes, options);
          }};
}

/// Attention of 3 heads, as exporters write it.
ValueId attention(Context& c) {
  const ValueId x = c.parameter("x", {2, 7, 12});
  const ValueId weights = c.weights("qkv", {12, 36});
  ValueId qkv = ops::matmul(c.graph, x, weights);
  qkv = ops::reshape(c.graph, qkv, {2, 7, 3, 3, 4});
  qkv = ops::transpose(c.graph, qkv, Axes{2, 0, 3, 1, 4});
  const Axes ones{1, 1, 1};
  const std::vector<ValueId> parts = ops::split(c.graph, qkv, 0, ones);
  const ValueId q = ops::squeeze(c.graph, parts[0], Axes{0});
  const ValueId k =
      ops::transpose(c.graph, ops::squeeze(c.graph, parts[1], Axes{0}), Axes{0, 1, 3, 2});
  const ValueId v = ops::squeeze(c.graph, parts[2], Axes{0});
  const ValueId half = ops::literal(c.graph, Tensor::from({1}, {0.5F}));
  const ValueId scores =
      ops::binary(c.graph, ops::BinaryKind::multiply, ops::matmul(c.graph, q, k), half);
  const ValueId y = ops::matmul(c.graph, ops::softmax(c.graph, scores, -1), v);
  return ops::reshape(c.graph, ops::transpose(c.graph, y, Axes{0, 2, 1, 3}), {2, 7, 12});
}

std::vector<Case> moving_cases() {
  return {
      transpose_case("transpose_matrix", {5, 7}, {1, 0}),
      transpose_case("transpose_to_channels_last", {2, 5, 3, 4}, {0, 2, 3, 1}),
      transpose_case("transpose_from_channels_last", {2, 5, 3, 4}, {0, 3, 1, 2}),
      transpose_case("transpose_heads", {2, 5, 3, 4}, {0, 2, 1, 3}),
      transpose_case("transpose_six_axes", {2, 3, 2, 4, 2, 3}, {0, 1, 3, 2, 4, 5}),
      transpose_case("transpose_all", {2, 3, 4}, {}),
      {"transpose_of_image",
       [](Context& c) {
         return ops::transpose(c.graph, image(c, {2, 6, 3, 4}), Axes{0, 2, 3, 1});
       }},
      {"image_as_rows_of_patches",
       [](Context& c) {
         const ValueId rows = ops::reshape(c.graph, image(c, {2, 6, 3, 4}), {2, 6, 12});
         return ops::transpose(c.graph, rows, Axes{0, 2, 1});
       }},
      {"channel_shuffle",
       [](Context& c) {
         const ValueId groups = ops::reshape(c.graph, image(c, {2, 6, 3, 4}), {2, 2, 3, 3, 4});
         const ValueId mixed = ops::transpose(c.graph, groups, Axes{0, 2, 1, 3, 4});
         return ops::reshape(c.graph, mixed, {2, 6, 3, 4});
       }},
      {"slice_backwards",
       [](Context& c) {
         const std::vector<ops::SliceRange> ranges{{1, -1, INT64_MIN, -2}, {3, 1, 9, 1}};
         return ops::slice(c.graph, image(c, {2, 6, 3, 4}), ranges);
       }},
      {"slice_of_plain",
       [](Context& c) {
         const ValueId plain = ops::transpose(c.graph, image(c, {2, 6, 3, 4}), Axes{0, 2, 3, 1});
         const std::vector<ops::SliceRange> ranges{{1, 1, 3, 1}, {3, 0, 6, 2}};
         return ops::slice(c.graph, plain, ranges);
       }},
      {"concat_of_plain",
       [](Context& c) {
         const ValueId plain = ops::transpose(c.graph, image(c, {2, 6, 3, 4}), Axes{0, 2, 3, 1});
         ops::Concat concat;
         concat.axis = 1;
         return c.add(concat, {plain, c.parameter("other", {2, 1, 4, 6})});
       }},
      {"pad_reflected",
       [](Context& c) {
         return ops::pad(c.graph, image(c, {2, 3, 4, 5}), Axes{0, 0, 2, 1}, Axes{0, 0, 1, 3},
                         ops::PadMode::reflect);
       }},
      {"pad_with_a_value",
       [](Context& c) {
         return ops::pad(c.graph, image(c, {2, 3, 4, 5}), Axes{0, 0, 2, -1}, Axes{0, 1, 1, 3},
                         ops::PadMode::constant, 0.5F);
       }},
      {"gather_known",
       [](Context& c) {
         const Axes indices{2, 0, -1, 2};
         return ops::gather(c.graph, image(c, {2, 6, 3, 4}), 1, indices, {2, 2});
       }},
      {"expand",
       [](Context& c) {
         return ops::expand(c.graph, c.parameter("src", {2, 1, 5}), {3, 2, 4, 1});
       }},
      {"expand_of_one",
       [](Context& c) {
         return ops::expand(c.graph, c.parameter("src", {1}), {2, 3, 4});
       }},
      resize_case("resize_nearest", ops::ResizeMode::nearest, 10, 8),
      resize_case("resize_linear_up", ops::ResizeMode::linear, 9, 13),
      resize_case("resize_linear_down", ops::ResizeMode::linear, 3, 2),
      resize_case("resize_cubic", ops::ResizeMode::cubic, 7, 9),
  };
}

Case layer_norm_case(std::string name, Shape src, int64_t axis) {
  return {std::move(name), [=](Context& c) {
            Shape row;
            for (int i = static_cast<int>(axis); i < src.rank(); ++i) row.append(src[i]);
            return ops::layer_norm(c.graph, c.parameter("src", src), axis,
                                   c.f32_parameter("gamma", row), c.f32_parameter("beta", row));
          }};
}

Case group_norm_case(std::string name, Shape src, int64_t groups) {
  return {std::move(name), [=](Context& c) {
            return ops::group_norm(c.graph, c.parameter("src", src), groups,
                                   c.f32_parameter("gamma", {src[1]}),
                                   c.f32_parameter("beta", {src[1]}));
          }};
}

Case pool_case(std::string name, ops::PoolKind kind, const ops::Window& window, bool ceil,
               bool count_padding = false) {
  return {std::move(name), [=](Context& c) {
            const Shape src{2, 20, 9, 8};
            ops::Pool pool;
            pool.kind = kind;
            pool.window = window;
            pool.count_padding = count_padding;
            if (ceil) pool.overhang = ops::overhang_of(window, src);
            return c.add(pool, {c.parameter("src", src)});
          }};
}

ops::Window gaps(int64_t stride) {
  ops::Window window;
  window.kernel = {2, 3};
  window.stride = {stride, stride};
  window.dilation = {3, 2};
  window.pad_begin = {1, 2};
  window.pad_end = {2, 0};
  return window;
}

ops::Window square(int64_t kernel, int64_t stride, int64_t padding) {
  ops::Window window;
  window.kernel = {kernel, kernel};
  window.stride = {stride, stride};
  window.pad_begin = window.pad_end = {padding, padding};
  return window;
}

Case depthwise_case(std::string name, int64_t channels, int64_t multiplier,
                    const ops::Window& window) {
  return {std::move(name), [=](Context& c) {
            ops::Conv conv;
            conv.window = window;
            conv.groups = channels;
            const int64_t outputs = channels * multiplier;
            const ValueId y = c.add(
                conv, {c.parameter("src", {2, channels, 9, 8}),
                       c.weights("weights", {outputs, 1, window.kernel[0], window.kernel[1]})});
            return c.add(ops::BiasAdd(), {y, c.f32_parameter("bias", {outputs})});
          }};
}

/// As TensorFlow pads: more at the end.
ops::Window lopsided(int64_t kernel, int64_t stride) {
  ops::Window window = square(kernel, stride, 0);
  window.pad_end = {kernel / 2, kernel / 2};
  return window;
}

std::vector<Case> window_cases() {
  using ops::PoolKind;
  return {
      layer_norm_case("layer_norm", {6, 20}, 1),
      layer_norm_case("layer_norm_of_tokens", {3, 40, 100}, 2),
      layer_norm_case("layer_norm_of_two_axes", {3, 2, 5, 7}, 2),
      layer_norm_case("layer_norm_of_all", {4, 33}, 0),
      {"layer_norm_of_channels",
       [](Context& c) {
         const ValueId rows = ops::transpose(c.graph, image(c, {2, 24, 3, 4}), Axes{0, 2, 3, 1});
         const ValueId y = ops::layer_norm(c.graph, rows, -1, c.f32_parameter("gamma", {24}),
                                           c.f32_parameter("beta", {24}), 1e-6F);
         return ops::transpose(c.graph, y, Axes{0, 3, 1, 2});
       }},
      group_norm_case("group_norm", {3, 24, 5, 4}, 3),
      group_norm_case("group_norm_large", {3, 70, 20, 11}, 7),
      group_norm_case("group_norm_of_signals", {2, 6, 9}, 2),
      group_norm_case("group_norm_of_rows", {4, 12}, 3),
      group_norm_case("instance_norm", {2, 7, 5, 4}, 7),
      depthwise_case("depthwise", 24, 1, square(3, 1, 1)),
      depthwise_case("depthwise_lopsided", 24, 1, lopsided(3, 2)),
      depthwise_case("depthwise_large", 40, 1, square(5, 2, 2)),
      depthwise_case("depthwise_odd", 7, 1, lopsided(5, 1)),
      depthwise_case("depthwise_twice_as_many", 6, 2, square(3, 1, 1)),
      pool_case("max_pool_with_gaps", PoolKind::max, gaps(1), false),
      pool_case("max_pool_with_gaps_ceil", PoolKind::max, gaps(2), true),
      pool_case("average_pool_with_gaps", PoolKind::average, gaps(2), false),
      pool_case("average_pool_with_gaps_ceil", PoolKind::average, gaps(3), true, true),
      pool_case("average_pool_ceil", PoolKind::average, square(3, 2, 0), true),
      pool_case("average_pool_ceil_counts_padding", PoolKind::average, square(3, 2, 1), true, true),
  };
}

std::vector<Case> computing_cases() {
  return {
      matmul_case("matmul_several", {3, 5, 7}, {3, 7, 4}),
      matmul_case("matmul_several_transposed", {2, 3, 7, 5}, {2, 3, 4, 7}, true, true),
      matmul_case("matmul_b_transposed", {2, 3, 5, 16}, {2, 3, 9, 16}, false, true),
      matmul_case("matmul_one_for_all", {6, 5, 7}, {7, 4}),
      matmul_case("matmul_broadcast", {2, 1, 5, 7}, {3, 7, 4}),
      {"matmul_of_transposed",
       [](Context& c) {
         const ValueId b = ops::transpose(c.graph, c.parameter("b", {2, 4, 7}), Axes{0, 2, 1});
         return ops::matmul(c.graph, c.parameter("a", {2, 5, 7}), b);
       }},
      {"gemm",
       [](Context& c) {
         return ops::gemm(c.graph, c.parameter("a", {7, 5}), c.weights("b", {4, 7}),
                          c.f32_parameter("c", {4}), {0.5F, 2.0F, true, true});
       }},
      {"attention", attention},
      {"softmax_of_channels",
       [](Context& c) {
         return ops::softmax(c.graph, image(c, {2, 6, 3, 4}), 1);
       }},
      {"log_softmax_of_rows",
       [](Context& c) {
         return ops::softmax(c.graph, c.parameter("src", {2, 6, 5}), 2, true);
       }},
      {"softmax_of_the_first_axis",
       [](Context& c) {
         return ops::softmax(c.graph, c.parameter("src", {6, 4, 3}), 0);
       }},
      reduce_case("reduce_max_of_rows", ReduceKind::max, {-1}, {3, 4, 20}),
      reduce_case("reduce_max_of_pixels", ReduceKind::max, {2, 3}, {3, 20, 5, 2}, true),
      reduce_case("reduce_sum_of_columns", ReduceKind::sum, {0, 1}, {30, 4, 20}),
      reduce_case("reduce_sum_of_batch", ReduceKind::sum, {0}, {3, 4, 5, 2}, true),
      reduce_case("reduce_mean_of_height", ReduceKind::mean, {2}, {3, 4, 5, 2}, true),
      reduce_case("reduce_mean_of_channels", ReduceKind::mean, {1}, {3, 40, 5, 2}, true),
      reduce_case("reduce_mean_of_first_and_last", ReduceKind::mean, {0, 3}, {3, 4, 5, 2}, true),
      reduce_case("reduce_sum_large", ReduceKind::sum, {1}, {4, 100, 600}),
      reduce_case("reduce_max_of_all", ReduceKind::max, {}, {7, 30}),
      {"conv_transpose",
       [](Context& c) {
         ops::ConvTransposeOptions options;
         options.window.kernel = {3, 3};
         options.window.stride = {2, 2};
         options.window.pad_begin = {1, 0};
         options.window.pad_end = {1, 1};
         options.output_padding = {1, 0};
         return ops::conv_transpose(c.graph, c.parameter("src", {2, 6, 4, 5}),
                                    c.weights("weights", {6, 3, 3, 3}), options);
       }},
      {"conv_transpose_groups",
       [](Context& c) {
         ops::ConvTransposeOptions options;
         options.window.kernel = {2, 2};
         options.window.stride = {2, 2};
         options.groups = 2;
         return ops::conv_transpose(c.graph, image(c, {2, 6, 4, 5}),
                                    c.weights("kernel", {6, 4, 2, 2}), options);
       }},
      {"number_without_axes",
       [](Context& c) {
         const ValueId two = ops::literal(c.graph, Tensor::from({}, {2.0F}));
         return ops::binary(c.graph, ops::BinaryKind::power, image(c, {2, 4, 3, 2}), two);
       }},
      {"parameter_of_any_type_in_any_operation",
       [](Context& c) {
         return ops::binary(c.graph, ops::BinaryKind::multiply, c.parameter("src", {3, 4, 5}),
                            c.weights("scale", {5}));
       }},
  };
}

/// Large enough for every thread to get a part.
std::vector<Case> large_cases() {
  return {
      layer_norm_case("layer_norm", {5, 67, 100}, 2),
      group_norm_case("group_norm", {5, 70, 20, 11}, 7),
      reduce_case("sum_of_columns", ReduceKind::sum, {0, 1}, {90, 10, 70}),
      reduce_case("max_of_middle", ReduceKind::max, {1}, {5, 30, 700}),
      reduce_case("mean_of_rows", ReduceKind::mean, {2}, {50, 10, 90}),
      matmul_case("matmul", {30, 20, 16}, {30, 16, 40}),
      {"softmax",
       [](Context& c) {
         return ops::softmax(c.graph, c.parameter("src", {9, 50, 70}), -1);
       }},
      {"resize",
       [](Context& c) {
         ops::ResizeOptions options;
         options.mode = ops::ResizeMode::linear;
         const std::vector<ops::ResizedAxis> axes{{2, 41, 41.0 / 30}, {3, 17, 17.0 / 20}};
         return ops::resize(c.graph, c.parameter("src", {2, 30, 30, 20}), axes, options);
       }},
      {"depthwise",
       [](Context& c) {
         ops::Conv conv;
         conv.window = gaps(2);
         conv.groups = 53;
         const ValueId src = c.parameter("src", {5, 53, 25, 22});
         const ValueId y = c.add(conv, {src, c.weights("weights", {53, 1, 2, 3})});
         return c.add(ops::BiasAdd(), {y, c.f32_parameter("bias", {53})});
       }},
      {"rows_with_bias",
       [](Context& c) {
         const ValueId y = ops::matmul(c.graph, c.parameter("src", {6, 20, 128}),
                                       c.weights("weights", {128, 96}));
         return ops::binary(c.graph, ops::BinaryKind::add, y, c.f32_parameter("bias", {96}));
       }},
      {"rows_a_page_apart",
       [](Context& c) {
         const ValueId y = ops::matmul(c.graph, c.parameter("src", {2, 70, 130}),
                                       c.weights("weights", {130, 1024}));
         return ops::binary(c.graph, ops::BinaryKind::add, y, c.f32_parameter("bias", {1024}));
       }},
      {"slices_and_transposes",
       [](Context& c) {
         const ValueId src = c.parameter("src", {3, 40, 10, 50});
         const ValueId turned = ops::transpose(c.graph, src, Axes{0, 2, 1, 3});
         const std::vector<ops::SliceRange> ranges{{3, 1, 49, 2}, {2, -1, INT64_MIN, -1}};
         return ops::slice(c.graph, turned, ranges);
       }},
  };
}

class ManyThreads : public testing::TestWithParam<std::tuple<Case, DType, bool>> {};

TEST_P(ManyThreads, MatchTheReference) {
  const ThreadScope threads(3);
  const auto& [test, dtype, fused] = GetParam();
  test::expect_case_matches(test, dtype, fused);
}

INSTANTIATE_TEST_SUITE_P(All, ManyThreads,
                         testing::Combine(testing::ValuesIn(large_cases()),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Values(true)),
                         test::case_name);

class ShapingKernels : public testing::TestWithParam<std::tuple<Case, DType, bool>> {};

TEST_P(ShapingKernels, MatchTheReference) {
  const auto& [test, dtype, fused] = GetParam();
  test::expect_case_matches(test, dtype, fused);
}

INSTANTIATE_TEST_SUITE_P(Moving, ShapingKernels,
                         testing::Combine(testing::ValuesIn(moving_cases()),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Bool()),
                         test::case_name);
INSTANTIATE_TEST_SUITE_P(Windows, ShapingKernels,
                         testing::Combine(testing::ValuesIn(window_cases()),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Bool()),
                         test::case_name);
INSTANTIATE_TEST_SUITE_P(Computing, ShapingKernels,
                         testing::Combine(testing::ValuesIn(computing_cases()),
                                          testing::Values(DType::f32, DType::bf16),
                                          testing::Bool()),
                         test::case_name);

TEST(Gathering, OfRowsMatchesTheReference) {
  const ThreadScope threads(3);
  for (const DType dtype : {DType::f32, DType::bf16}) {
    Context c{{}, dtype};
    const ValueId indices = c.graph.add_input("indices", {DType::s32, {40, 5}});
    const ValueId table = c.weights("table", {10, 100});
    const ValueId y = ops::gather(c.graph, table, 0, indices);
    const ValueId target = c.graph.add_input("target", c.graph.type(y));
    const ValueId loss = c.add(ops::HalfSquaredError(), {y, target});
    c.graph.set_output("loss", loss);
    graph::add_gradients(c.graph, loss);
    test::expect_matches_reference(c.graph, dtype == DType::f32 ? 1e-5 : 3e-2);
  }
}

TEST(Gathering, IndexOutOfRangeIsAnError) {
  Context c{{}, DType::f32};
  const ValueId indices = c.graph.add_input("indices", {DType::s32, {3}});
  c.graph.set_output("y", ops::gather(c.graph, c.parameter("table", {4, 2}), 0, indices));
  const auto backend = ops::cpu::make_backend();
  const auto program = graph::compile(c.graph, *backend, std::make_shared<graph::Parameters>());
  program->set_input("indices", Tensor::from({3}, {0, -4, 4}));
  EXPECT_THROW(program->run({}), RunError);
}

int count_of(const graph::Program& program, const std::string& operation) {
  int count = 0;
  for (const graph::Program::Item& item : program.items()) count += item.operation == operation;
  return count;
}

TEST(Views, ImagesBecomeRowsAndBackWithoutACopy) {
  Context c{{}, DType::f32};
  const ValueId rows = ops::transpose(c.graph, image(c, {2, 8, 3, 4}), Axes{0, 2, 3, 1});
  const ValueId again = c.add(ops::Activation(ops::ActivationKind::relu), {rows});
  const ValueId back = ops::transpose(c.graph, again, Axes{0, 3, 1, 2});
  const ValueId pixels = ops::reshape(c.graph, back, {2, 8, 12});
  c.graph.set_output("y", ops::transpose(c.graph, pixels, Axes{0, 2, 1}));
  const auto backend = ops::cpu::make_backend();
  auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(c.graph, *backend, parameters);
  EXPECT_EQ(count_of(*program, "transpose"), 0) << program->to_table();
  EXPECT_EQ(count_of(*program, "reorder"), 0) << program->to_table();
  test::expect_matches_reference(c.graph, 1e-5);
}

TEST(Literals, CostNothingInAStep) {
  Context c{{}, DType::f32};
  std::vector<float> numbers(24);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const ValueId known = ops::literal(c.graph, Tensor::from({1, 4, 2, 3}, numbers));
  const ValueId sum = ops::binary(c.graph, ops::BinaryKind::add, image(c, {1, 4, 2, 3}), known);
  c.graph.set_output("y", sum);
  const auto backend = ops::cpu::make_backend();
  const auto program = graph::compile(c.graph, *backend, std::make_shared<graph::Parameters>());
  EXPECT_EQ(count_of(*program, "literal"), 0);
  EXPECT_EQ(count_of(*program, "reorder"), 0) << program->to_table();
  test::expect_matches_reference(c.graph, 1e-5);
}

}  // namespace
}  // namespace syrtos
