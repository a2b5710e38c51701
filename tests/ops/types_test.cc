// What operations give: shapes of windows, types in bf16, attributes, layouts.

#include <gtest/gtest.h>

#include "syrtos/ops/backend.h"
#include "syrtos/ops/bias.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {
namespace {

using ops::Layout;
using ops::PoolKind;

TensorType f32(Shape shape) { return {DType::f32, shape}; }
TensorType bf16(Shape shape) { return {DType::bf16, shape}; }
TensorType s32(Shape shape) { return {DType::s32, shape}; }

std::vector<TensorType> infer(const ops::Op& op, std::vector<TensorType> inputs) {
  return op.infer(inputs);
}

TEST(Window, OutputRoundsDown) {
  EXPECT_EQ(window_2d(3, 2, 1).output(0, 8), 4);
  EXPECT_EQ(window_2d(3, 2, 1).output(0, 7), 4);
  EXPECT_EQ(window_2d(7, 2, 3).output(0, 224), 112);
  EXPECT_EQ(window_2d(5).output(0, 4), 0);
}

TEST(Window, SamePaddingPutsTheOddOneAtTheEnd) {
  ops::Window window = window_2d(3, 2);
  window.pad_same(std::vector<int64_t>{8, 7});
  EXPECT_EQ(window.pad_begin, (std::array<int64_t, 2>{0, 1}));
  EXPECT_EQ(window.pad_end, (std::array<int64_t, 2>{1, 1}));
  EXPECT_EQ(window.output(0, 8), 4);
  EXPECT_EQ(window.output(1, 7), 4);
}

TEST(Window, SamePaddingCountsDilation) {
  ops::Window window = window_1d(3);
  window.dilation = {2, 1};
  window.pad_same(std::vector<int64_t>{10});
  EXPECT_EQ(window.output(0, 10), 10);
}

TEST(Window, TextTellsAllWindowsApart) {
  EXPECT_EQ(window_2d(3).to_string(), "kernel 3x3");
  EXPECT_EQ(window_1d(3, 2, 1).to_string(), "kernel 3 stride 2 pad 1");
  ops::Window window = window_2d(3, 2);
  window.dilation = {2, 1};
  window.pad_begin = {0, 1};
  window.pad_end = {1, 1};
  EXPECT_EQ(window.to_string(), "kernel 3x3 stride 2x2 dilation 2x1 pad 0x1:1x1");
}

TEST(Types, ActivationsKeepBf16AndWeightGradientsAreF32) {
  ops::ConvBackwardWeights weights;
  weights.window = window_2d(3, 1, 1);
  weights.bias = true;
  EXPECT_EQ(infer(*conv(window_2d(3, 1, 1)), {bf16({2, 3, 4, 4}), bf16({5, 3, 3, 3})})[0],
            bf16({2, 5, 4, 4}));
  const auto gradients = infer(weights, {bf16({2, 3, 4, 4}), bf16({2, 5, 4, 4})});
  EXPECT_EQ(gradients, (std::vector{f32({5, 3, 3, 3}), f32({5})}));
  EXPECT_EQ(infer(ops::BiasBackward(), {bf16({2, 5, 4, 4})})[0], f32({5}));
  EXPECT_EQ(infer(*cross_entropy(), {bf16({2, 5}), s32({2})})[0], f32({1}));
  EXPECT_EQ(infer(ops::L2PenaltyBackward(1), {bf16({2, 5}), f32({1})})[0], f32({2, 5}));
}

TEST(Types, MatMulGivesF32WhereAsked) {
  auto op = matmul(false, true);
  EXPECT_EQ(infer(*op, {bf16({2, 3}), bf16({4, 3})})[0], bf16({2, 4}));
  op->f32_output = true;
  EXPECT_EQ(infer(*op, {bf16({2, 3}), bf16({4, 3})})[0], f32({2, 4}));
}

TEST(Types, BatchNormGivesItsStatisticsInTrainingOnly) {
  const std::vector<TensorType> inputs{bf16({2, 3, 4, 4}), f32({3}), f32({3}), f32({3}), f32({3})};
  EXPECT_EQ(batch_norm(true)->infer(inputs), (std::vector{bf16({2, 3, 4, 4}), f32({3}), f32({3})}));
  EXPECT_EQ(batch_norm(false)->infer(inputs), std::vector{bf16({2, 3, 4, 4})});
}

TEST(Types, MaxPoolGivesPositionsToo) {
  EXPECT_EQ(infer(*pool(PoolKind::max, window_2d(2, 2)), {bf16({2, 3, 5, 4})}),
            (std::vector{bf16({2, 3, 2, 2}), s32({2, 3, 2, 2})}));
  EXPECT_EQ(infer(*adaptive_pool(PoolKind::average, 1, 1), {f32({2, 3, 5})}),
            std::vector{f32({2, 3, 1})});
}

TEST(Types, ReductionOfAllAxesLeavesOne) {
  EXPECT_EQ(infer(*reduce(false, {0, 1}), {f32({2, 3})})[0], f32({1}));
  EXPECT_EQ(infer(*reduce(false, {0}), {f32({2, 3})})[0], f32({3}));
}

TEST(Types, PadIsTheInverseOfSlice) {
  const auto cut = slice({1, 0}, {2, 2}, {2, 1});
  EXPECT_EQ(infer(*cut, {f32({4, 2})})[0], f32({2, 2}));
  EXPECT_EQ(infer(*pad({1, 0}, {0, 0}, {1, 0}), {f32({2, 2})})[0], f32({4, 2}));
}

TEST(Flops, CountMultiplyAddsTwice) {
  const std::vector<TensorType> inputs{f32({2, 4, 8, 8}), f32({6, 2, 3, 3})};
  const auto op = conv(window_2d(3, 1, 1), 2);
  EXPECT_EQ(op->flops(inputs, op->infer(inputs)), 2.0 * 2 * 6 * 8 * 8 * 2 * 3 * 3);
  const std::vector<TensorType> factors{f32({3, 4}), f32({5, 4})};
  const auto product = matmul(false, true);
  EXPECT_EQ(product->flops(factors, product->infer(factors)), 2.0 * 3 * 4 * 5);
}

TEST(LayoutOf, PlainAndChannelsLastAgreeForOnePixelOrChannel) {
  EXPECT_TRUE(same_bytes(Layout::plain(), Layout::channels_last(), f32({2, 3, 1, 1})));
  EXPECT_TRUE(same_bytes(Layout::plain(), Layout::channels_last(), f32({2, 1, 4, 4})));
  EXPECT_TRUE(same_bytes(Layout::plain(), Layout::channels_last(), f32({2, 3})));
  EXPECT_FALSE(same_bytes(Layout::plain(), Layout::channels_last(), f32({2, 3, 4, 4})));
  EXPECT_FALSE(same_bytes(Layout::any(), Layout::any(), f32({2, 3})));
}

TEST(LayoutOf, ActivationsLieChannelsLastFromRankThree) {
  EXPECT_EQ(ops::activation_layout({2, 3, 4}).name(), "channels_last");
  EXPECT_EQ(ops::activation_layout({2, 3}).name(), "plain");
  EXPECT_EQ(Layout::plain().bytes(bf16({2, 3})), 12U);
}

}  // namespace
}  // namespace syrtos::test
