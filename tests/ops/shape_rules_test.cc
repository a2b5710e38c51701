// Shape rules: what operations give, and that their refusals name the operation and the shapes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/softmax.h"
#include "syrtos/ops/to_indices.h"
#include "syrtos/ops/transpose.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {
namespace {

using ops::PoolKind;
using testing::HasSubstr;

TensorType f32(Shape shape) { return {DType::f32, shape}; }
TensorType bf16(Shape shape) { return {DType::bf16, shape}; }
TensorType s32(Shape shape) { return {DType::s32, shape}; }

struct Refusal {
  std::string title;
  std::shared_ptr<const ops::Op> op;
  std::vector<TensorType> inputs;
  std::vector<std::string> says;  ///< besides the operation's name
};

std::vector<Refusal> linear_refusals() {
  ops::ConvBackwardData data;
  data.window = window_2d(3);
  data.src_shape = {2, 3, 8, 8};
  ops::ConvBackwardWeights weights;
  weights.window = window_2d(3);
  auto biased = std::make_shared<ops::Conv>(*conv(window_2d(1)));
  biased->bias = true;
  return {
      {"ConvChannels",
       conv(window_2d(3)),
       {f32({42, 3, 8, 8}), f32({64, 64, 3, 3})},
       {"src f32[42, 3, 8, 8] has 3 channels", "weights f32[64, 64, 3, 3] expect 64"}},
      {"ConvKernelTooLarge",
       conv(window_2d(5, 1, 1)),
       {f32({1, 3, 2, 8}), f32({4, 3, 5, 5})},
       {"larger than the padded input", "f32[1, 3, 2, 8]", "at least 5", "found 4"}},
      {"ConvKernel",
       conv(window_2d(3)),
       {f32({1, 3, 8, 8}), f32({4, 3, 5, 5})},
       {"f32[4, 3, 5, 5]", "3x3"}},
      {"ConvGroups",
       conv(window_2d(1), 2),
       {f32({1, 3, 8, 8}), f32({4, 1, 1, 1})},
       {"2 groups", "f32[1, 3, 8, 8]"}},
      {"ConvRank",
       conv(window_1d(3)),
       {f32({1, 3, 8, 8}), f32({4, 3, 3})},
       {"rank 3", "f32[1, 3, 8, 8]"}},
      {"ConvTypes",
       conv(window_2d(1)),
       {bf16({1, 3, 8, 8}), f32({4, 3, 1, 1})},
       {"bf16[1, 3, 8, 8]", "f32[4, 3, 1, 1]"}},
      {"ConvLabels", conv(window_2d(1)), {s32({1, 3, 8, 8}), s32({4, 3, 1, 1})}, {"s32[1, 3, 8"}},
      {"ConvBias",
       biased,
       {f32({1, 3, 8, 8}), f32({4, 3, 1, 1}), f32({3})},
       {"expected bias f32[4]", "found f32[3]"}},
      {"ConvInputs", conv(window_2d(1)), {f32({1, 3, 8, 8})}, {"expected 2 inputs, found 1"}},
      {"ConvBackwardData",
       std::make_shared<ops::ConvBackwardData>(data),
       {f32({2, 4, 8, 8}), f32({4, 3, 3, 3})},
       {"f32[2, 4, 6, 6]", "found f32[2, 4, 8, 8]"}},
      {"ConvBackwardWeights",
       std::make_shared<ops::ConvBackwardWeights>(weights),
       {f32({2, 3, 8, 8}), f32({2, 4, 8, 8})},
       {"f32[2, 4, 6, 6]", "found f32[2, 4, 8, 8]"}},
      {"MatMul", matmul(false, true), {f32({3, 4}), f32({4, 5})}, {"f32[3, 4]", "f32[4, 5]^T"}},
      {"MatMulRank", matmul(false, false), {f32({4}), f32({4, 5})}, {"f32[4]", "[..., M, K]"}},
      {"MatMulBatch",
       matmul(false, false),
       {f32({2, 3, 4}), f32({3, 4, 5})},
       {"[2]", "[3]", "do not fit"}},
      {"MatMulTypes", matmul(false, false), {f32({3, 4}), bf16({4, 5})}, {"bf16[4, 5]"}},
      {"Bias",
       std::make_shared<ops::BiasAdd>(),
       {f32({2, 3, 4}), f32({4})},
       {"f32[2, 3, 4] has 3 channels", "found f32[4]"}},
      {"BiasType", std::make_shared<ops::BiasAdd>(), {bf16({2, 3}), bf16({3})}, {"bf16[3]"}},
      {"BiasBackward", std::make_shared<ops::BiasBackward>(), {f32({2})}, {"f32[2]"}},
  };
}

std::vector<Refusal> image_refusals() {
  const TensorType image = f32({2, 3, 4, 4});
  const TensorType channel = f32({3});
  ops::PoolBackward backward;
  backward.window = window_2d(2, 2);
  backward.src_shape = {2, 3, 4, 4};
  return {
      {"BatchNorm",
       batch_norm(),
       {image, f32({4}), channel, channel, channel},
       {"f32[2, 3, 4, 4]", "gamma f32[3], found f32[4]"}},
      {"BatchNormOne",
       batch_norm(),
       {f32({1, 3}), channel, channel, channel, channel},
       {"more than one value per channel", "f32[1, 3]"}},
      {"BatchNormBackward",
       std::make_shared<ops::BatchNormBackward>(),
       {image, channel, channel, channel, f32({2, 3, 4, 5})},
       {"diff_dst", "f32[2, 3, 4, 5]"}},
      {"LocalResponseNorm", lrn(4), {image}, {"odd", "found 4", "f32[2, 3, 4, 4]"}},
      {"LocalResponseNormRank", lrn(3), {f32({2, 3})}, {"f32[2, 3]"}},
      {"LocalResponseNormBackward",
       std::make_shared<ops::LocalResponseNormBackward>(),
       {image, f32({2, 3})},
       {"f32[2, 3, 4, 4]", "found f32[2, 3]"}},
      {"MaxPool",
       pool(PoolKind::max, window_2d(5)),
       {image},
       {"larger than the padded input", "at least 5", "found 4", "f32[2, 3, 4, 4]"}},
      {"PoolPadding",
       pool(PoolKind::average, window_2d(2, 1, 2)),
       {image},
       {"padding", "f32[2, 3, 4, 4]"}},
      {"PoolRank", adaptive_pool(PoolKind::average, 1, 1), {f32({2, 3})}, {"f32[2, 3]"}},
      {"PoolOutput", adaptive_pool(PoolKind::average, 0, 1), {image}, {"f32[2, 3, 4, 4]", "0"}},
      {"PoolBackward",
       std::make_shared<ops::PoolBackward>(backward),
       {f32({2, 3, 3, 3}), s32({2, 3, 3, 3})},
       {"f32[2, 3, 2, 2]", "found f32[2, 3, 3, 3]"}},
      {"LayerNorm", layer_norm(1), {f32({2, 3}), f32({2}), f32({3})}, {"f32[3]", "found f32[2]"}},
      {"LayerNormAxis", layer_norm(2), {f32({2, 3}), f32({3}), f32({3})}, {"axis 2", "f32[2, 3]"}},
      {"GroupNorm", group_norm(2), {f32({2, 3}), f32({3}), f32({3})}, {"3 channels", "found 2"}},
      {"Softmax", std::make_shared<ops::Softmax>(false), {f32({})}, {"[..., classes]", "f32[]"}},
      {"SoftmaxBackward",
       std::make_shared<ops::SoftmaxBackward>(true),
       {f32({2, 3}), f32({3, 2})},
       {"f32[2, 3]", "f32[3, 2]"}},
  };
}

std::vector<Refusal> pointwise_refusals() {
  const auto relu = ops::ActivationKind::relu;
  return {
      {"Relu", std::make_shared<ops::Activation>(relu), {s32({2})}, {"s32[2]"}},
      {"ReluBackward",
       std::make_shared<ops::ActivationBackward>(relu),
       {f32({2}), f32({3})},
       {"f32[2]", "f32[3]"}},
      {"Gelu", std::make_shared<ops::Gelu>(), {s32({2})}, {"s32[2]"}},
      {"GeluBackward",
       std::make_shared<ops::GeluBackward>(),
       {f32({2}), f32({3})},
       {"f32[2]", "f32[3]"}},
      {"Dropout", dropout(1.0F), {f32({2, 3})}, {"below 1", "f32[2, 3]"}},
      {"DropoutBackward", std::make_shared<ops::DropoutBackward>(), {s32({2, 3})}, {"s32[2, 3]"}},
      {"Add", std::make_shared<ops::Add>(), {f32({2}), f32({2}), f32({3})}, {"f32[2]", "f32[3]"}},
      {"AddOne", std::make_shared<ops::Add>(), {f32({2})}, {"two or more", "1"}},
      {"Multiply", std::make_shared<ops::Multiply>(), {f32({2}), bf16({2})}, {"f32[2]", "bf16[2]"}},
      {"Scale", std::make_shared<ops::Scale>(2.0F), {s32({2})}, {"s32[2]"}},
      {"ScaleBy", std::make_shared<ops::ScaleBy>(), {f32({2}), f32({2})}, {"f32[1]", "f32[2]"}},
      {"Constant", std::make_shared<ops::Constant>(), {f32({2})}, {"expected 0 inputs, found 1"}},
      {"Cast", std::make_shared<ops::Cast>(DType::s32), {f32({2})}, {"s32[2]"}},
  };
}

std::vector<Refusal> moving_refusals() {
  return {
      {"Concat", concat(1), {f32({2, 3}), f32({3, 3})}, {"f32[2, 3]", "f32[3, 3]", "axis 1"}},
      {"ConcatAxis", concat(2), {f32({2, 3})}, {"axis 2", "f32[2, 3]"}},
      {"ConcatNothing", concat(1), {}, {"found none"}},
      {"Slice", slice({0, 2}, {2, 2}, {1, 1}), {f32({2, 3})}, {"f32[2, 3]", "axis 1"}},
      {"SliceRank", slice({0}, {2}, {1}), {f32({2, 3})}, {"2 axes", "f32[2, 3]"}},
      {"Pad", pad({0, -1}, {0, 0}, {0, 0}), {f32({2, 3})}, {"negative", "f32[2, 3]"}},
      {"Reshape",
       std::make_shared<ops::Reshape>(Shape{5}),
       {f32({2, 3})},
       {"f32[2, 3] has 6", "[5] has 5"}},
      {"Transpose",
       std::make_shared<ops::Transpose>(std::vector{0, 0}),
       {f32({2, 3})},
       {"f32[2, 3]", "[0, 0]"}},
      {"AxisMap", axis_map(1, {{{0, 1.0F}}}), {f32({2, 4})}, {"extent of 3", "f32[2, 4]"}},
      {"Gather", std::make_shared<ops::Gather>(2), {f32({2, 3}), s32({2})}, {"axis 2", "[2, 3]"}},
      {"GatherIndices",
       std::make_shared<ops::Gather>(0),
       {f32({2, 3}), f32({2})},
       {"s32", "f32[2]"}},
      {"Reduce", reduce(false, {2}), {f32({2, 3})}, {"[2, 3]", "[2]"}},
      {"ReduceTwice", reduce(true, {1, 1}), {f32({2, 3})}, {"[2, 3]", "[1, 1]"}},
      {"ReduceNothing", reduce(true, {}), {f32({2, 3})}, {"f32[2, 3]", "none"}},
      {"Broadcast", broadcast({2, 3}, {0}), {f32({2})}, {"[2, 3]", "f32[3]", "found f32[2]"}},
  };
}

std::vector<Refusal> recurrence_refusals() {
  const auto lstm = recurrence(ops::RecurrenceKind::lstm);
  return {
      {"LstmWeights", lstm, {f32({3, 2, 8}), f32({6, 2}), f32({8})}, {"4 * units", "f32[6, 2]"}},
      {"LstmSteps", lstm, {f32({2, 8}), f32({8, 2}), f32({8})}, {"[lstm]", "f32[2, 8]"}},
      {"LstmProjected",
       lstm,
       {f32({3, 2, 6}), f32({8, 2}), f32({8})},
       {"f32[3, 2, 8]", "f32[3, 2, 6]"}},
      {"LstmBias", lstm, {f32({3, 2, 8}), f32({8, 2}), f32({6})}, {"f32[8]", "f32[6]"}},
      {"GruLengths",
       recurrence(ops::RecurrenceKind::gru),
       {f32({3, 2, 6}), f32({6, 2}), f32({6}), s32({3})},
       {"lengths", "s32[2]", "s32[3]"}},
      {"ToIndices", std::make_shared<ops::ToIndices>(), {s32({2})}, {"s32[2]"}},
  };
}

std::vector<Refusal> loss_refusals() {
  ops::CrossEntropyBackward backward;
  backward.type = f32({4, 3});
  return {
      {"CrossEntropy", cross_entropy(), {f32({4, 3}), s32({3})}, {"f32[4, 3]", "found s32[3]"}},
      {"CrossEntropyLabels", cross_entropy(), {f32({4, 3}), f32({4})}, {"s32[4]", "f32[4]"}},
      {"CrossEntropySmoothing", cross_entropy(1.5F), {f32({4, 3}), s32({4})}, {"1.5"}},
      {"CrossEntropyWeights",
       cross_entropy(0, {1.0F, 2.0F}),
       {f32({4, 3}), s32({4})},
       {"each class", "f32[4, 3]", "[1, 2]"}},
      {"HuberError",
       element_loss(ops::ElementLossKind::huber, 0),
       {f32({4}), f32({4})},
       {"delta above 0"}},
      {"AbsoluteError",
       element_loss(ops::ElementLossKind::absolute),
       {f32({4}), f32({3})},
       {"f32[4]", "f32[3]"}},
      {"CrossEntropyBackward",
       std::make_shared<ops::CrossEntropyBackward>(backward),
       {s32({4}), f32({2})},
       {"f32[1]", "found f32[2]"}},
      {"SoftmaxCrossEntropy",
       std::make_shared<ops::SoftmaxCrossEntropy>(),
       {f32({4}), s32({4})},
       {"f32[4]"}},
      {"SoftmaxCrossEntropyBackward",
       std::make_shared<ops::SoftmaxCrossEntropyBackward>(),
       {f32({4, 3}), s32({5}), f32({1})},
       {"s32[4]", "found s32[5]"}},
      {"HalfSquaredError",
       std::make_shared<ops::HalfSquaredError>(),
       {f32({4, 3}), f32({4})},
       {"f32[4, 3]", "f32[4]"}},
      {"HalfSquaredErrorBackward",
       std::make_shared<ops::HalfSquaredErrorBackward>(),
       {f32({4}), f32({4}), f32({4})},
       {"f32[1]", "found f32[4]"}},
      {"L2Penalty", std::make_shared<ops::L2Penalty>(1.0F), {s32({4})}, {"s32[4]"}},
      {"L2PenaltyBackward",
       std::make_shared<ops::L2PenaltyBackward>(1.0F),
       {f32({4}), f32({4})},
       {"f32[1]", "found f32[4]"}},
  };
}

class ShapeRule : public testing::TestWithParam<Refusal> {};

TEST_P(ShapeRule, RefusalNamesOperationAndShapes) {
  const Refusal& refusal = GetParam();
  try {
    refusal.op->infer(refusal.inputs);
    FAIL() << "was accepted";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[" + std::string(refusal.op->name()) + "]"));
    for (const std::string& text : refusal.says) EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

std::string title_of(const testing::TestParamInfo<Refusal>& test) { return test.param.title; }

INSTANTIATE_TEST_SUITE_P(Linear, ShapeRule, testing::ValuesIn(linear_refusals()), title_of);
INSTANTIATE_TEST_SUITE_P(Image, ShapeRule, testing::ValuesIn(image_refusals()), title_of);
INSTANTIATE_TEST_SUITE_P(Pointwise, ShapeRule, testing::ValuesIn(pointwise_refusals()), title_of);
INSTANTIATE_TEST_SUITE_P(Moving, ShapeRule, testing::ValuesIn(moving_refusals()), title_of);
INSTANTIATE_TEST_SUITE_P(Recurrence, ShapeRule, testing::ValuesIn(recurrence_refusals()), title_of);
INSTANTIATE_TEST_SUITE_P(Loss, ShapeRule, testing::ValuesIn(loss_refusals()), title_of);

}  // namespace
}  // namespace syrtos::test
