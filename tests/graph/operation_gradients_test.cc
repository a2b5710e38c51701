// Every forward operation's gradient rule against finite differences of its reference.

#include <gtest/gtest.h>

#include <set>

#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/softmax.h"
#include "syrtos/ops/transpose.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {
namespace {

using ops::ActivationKind;
using ops::PoolKind;

ops::Window uneven_window() {
  ops::Window window;
  window.kernel = {3, 2};
  window.stride = {2, 1};
  window.dilation = {1, 2};
  window.pad_begin = {0, 1};
  window.pad_end = {1, 2};
  return window;
}

ops::Window uneven_pool_window() {
  ops::Window window = window_2d(3, 2);
  window.pad_begin = {1, 0};
  window.pad_end = {0, 2};
  return window;
}

ops::Window gaps_window() {
  ops::Window window = window_2d(2, 2, 1);
  window.dilation = {3, 2};
  return window;
}

std::vector<GradientCase> linear_cases() {
  return {
      {"Conv1x1", conv(window_2d(1)), {{{2, 3, 3, 2}}, {{4, 3, 1, 1}}}},
      {"Conv3x3Padded", conv(window_2d(3, 1, 1)), {{{2, 2, 4, 3}}, {{3, 2, 3, 3}}}},
      {"ConvStrided", conv(window_2d(3, 2, 1)), {{{2, 2, 5, 6}}, {{2, 2, 3, 3}}}},
      {"ConvUneven", conv(uneven_window()), {{{2, 2, 5, 4}}, {{3, 2, 3, 2}}}},
      {"ConvGroups", conv(window_2d(3, 1, 1), 2), {{{2, 4, 3, 3}}, {{6, 2, 3, 3}}}},
      {"ConvDepthwise", conv(window_2d(3, 1, 1), 3), {{{2, 3, 3, 4}}, {{3, 1, 3, 3}}}},
      {"Conv1D", conv(window_1d(3, 2, 1)), {{{2, 3, 7}}, {{4, 3, 3}}}},
      {"MatMul", matmul(false, false), {{{3, 4}}, {{4, 2}}}},
      {"MatMulDense", matmul(false, true), {{{3, 4}}, {{2, 4}}}},
      {"MatMulTransposedA", matmul(true, false), {{{4, 3}}, {{4, 2}}}},
      {"MatMulTransposedBoth", matmul(true, true), {{{4, 3}}, {{2, 4}}}},
      {"MatMulSeveral", matmul(false, true), {{{2, 3, 4}}, {{2, 2, 4}}}},
      {"MatMulBroadcast", matmul(true, false), {{{2, 1, 4, 3}}, {{2, 4, 2}}}},
      {"MatMulOneForAll", matmul(false, false), {{{2, 3, 4}}, {{4, 2}}}},
      {"ConvTranspose",
       conv_transpose(uneven_window(), {2, 2, 5, 4}),
       {{{2, 3, 2, 5}}, {{3, 2, 3, 2}}}},
      {"BiasOfImage", std::make_shared<ops::BiasAdd>(), {{{2, 3, 2, 2}}, {{3}}}},
      {"BiasOfRows", std::make_shared<ops::BiasAdd>(), {{{4, 3}}, {{3}}}},
  };
}

std::vector<GradientCase> image_cases() {
  const Operand image{{2, 3, 4, 4}};
  return {
      {"BatchNorm",
       batch_norm(),
       {{{3, 2, 2, 3}}, {{2}}, {{2}}, {{2}, Role::state}, {{2}, Role::state}}},
      {"BatchNormOfRows",
       batch_norm(),
       {{{5, 3}}, {{3}}, {{3}}, {{3}, Role::state}, {{3}, Role::state}}},
      {"LayerNorm", layer_norm(2), {{{2, 3, 4}}, {{4}}, {{4}}}},
      {"LayerNormOfTwoAxes", layer_norm(1), {{{3, 2, 3}}, {{2, 3}}, {{2, 3}}}},
      {"GroupNorm", group_norm(2), {{{2, 4, 3, 2}}, {{4}}, {{4}}}},
      {"InstanceNorm", group_norm(3), {{{2, 3, 5}}, {{3}}, {{3}}}},
      {"LocalResponseNorm", lrn(3), {{{2, 5, 2, 2}}}},
      {"LocalResponseNormWide", lrn(5), {{{1, 4, 2, 3}}}},
      {"MaxPool", pool(PoolKind::max, window_2d(2, 2)), {image}},
      {"MaxPoolOverlapping", pool(PoolKind::max, window_2d(3, 1, 1)), {image}},
      {"MaxPoolUneven", pool(PoolKind::max, uneven_pool_window()), {{{1, 2, 6, 5}}}},
      {"MaxPool1D", pool(PoolKind::max, window_1d(3, 2)), {{{2, 2, 7}}}},
      {"MaxPoolGlobal", adaptive_pool(PoolKind::max, 1, 1), {image}},
      {"MaxPoolAdaptive", adaptive_pool(PoolKind::max, 2, 3), {{{1, 2, 5, 4}}}},
      {"AveragePool", pool(PoolKind::average, window_2d(2, 2)), {image}},
      {"AveragePoolOverlapping", pool(PoolKind::average, window_2d(3, 1, 1)), {image}},
      {"AveragePoolUneven", pool(PoolKind::average, uneven_pool_window()), {{{1, 2, 6, 5}}}},
      {"AveragePoolCounting", pool(PoolKind::average, window_2d(3, 2, 1), true), {image}},
      {"MaxPoolWithGaps", pool(PoolKind::max, gaps_window()), {{{1, 2, 6, 5}}}},
      {"AveragePoolWithGaps", pool(PoolKind::average, gaps_window()), {{{1, 2, 6, 5}}}},
      {"AveragePoolOverhanging",
       overhanging(PoolKind::average, window_2d(3, 2, 1), {2, 3, 4, 4}),
       {image}},
      {"MaxPoolOverhanging", overhanging(PoolKind::max, window_2d(3, 2), {2, 3, 4, 4}), {image}},
      {"AveragePool1D", pool(PoolKind::average, window_1d(2, 2)), {{{2, 2, 6}}}},
      {"AveragePoolGlobal", adaptive_pool(PoolKind::average, 1, 1), {image}},
      {"AveragePoolAdaptive", adaptive_pool(PoolKind::average, 3, 2), {{{1, 2, 4, 5}}}},
  };
}

std::vector<GradientCase> pointwise_cases() {
  const Operand rows{{3, 4}};
  return {
      {"Relu", std::make_shared<ops::Activation>(ActivationKind::relu), {rows}},
      {"Sigmoid", std::make_shared<ops::Activation>(ActivationKind::sigmoid), {rows}},
      {"Tanh", std::make_shared<ops::Activation>(ActivationKind::tanh), {rows}},
      {"Gelu", std::make_shared<ops::Gelu>(), {rows}},
      {"Softmax", std::make_shared<ops::Softmax>(false), {rows}},
      {"LogSoftmax", std::make_shared<ops::Softmax>(true), {rows}},
      {"SoftmaxOfRank3", std::make_shared<ops::Softmax>(false), {{{2, 3, 4}}}},
      {"Dropout", dropout(0.4F, 3), {{{4, 6}}}},
      {"DropoutOfImage", dropout(0.5F, 1), {{{2, 3, 3, 2}}}},
      {"Add", std::make_shared<ops::Add>(), {rows, rows}},
      {"AddThree", std::make_shared<ops::Add>(), {rows, rows, rows}},
      {"Multiply", std::make_shared<ops::Multiply>(), {rows, rows}},
      {"Scale", std::make_shared<ops::Scale>(0.3F), {rows}},
      {"Cast", std::make_shared<ops::Cast>(DType::bf16), {rows}},
  };
}

std::shared_ptr<ops::Pointwise> function(ops::PointwiseKind kind, float alpha = 0, float beta = 0) {
  return std::make_shared<ops::Pointwise>(kind, alpha, beta);
}

std::vector<GradientCase> function_cases() {
  using ops::PointwiseKind;
  const Operand rows{{3, 4}};
  const Operand positive{{3, 4}, Role::positive};
  return {
      {"Negative", function(PointwiseKind::negative), {rows}},
      {"Absolute", function(PointwiseKind::absolute), {rows}},
      {"SquareRoot", function(PointwiseKind::square_root), {positive}},
      {"Exponential", function(PointwiseKind::exponential), {rows}},
      {"Logarithm", function(PointwiseKind::logarithm), {positive}},
      {"Erf", function(PointwiseKind::erf), {rows}},
      {"Reciprocal", function(PointwiseKind::reciprocal), {positive}},
      {"LeakyRelu", function(PointwiseKind::leaky_relu, 0.2F), {rows}},
      {"Elu", function(PointwiseKind::elu, 1.3F), {rows}},
      {"Softplus", function(PointwiseKind::softplus), {rows}},
      {"HardSigmoid", function(PointwiseKind::hard_sigmoid, 0.9F, 0.45F), {rows}},
      {"HardSwish", function(PointwiseKind::hard_swish), {rows}},
      {"Clip", function(PointwiseKind::clip, -0.52F, 0.77F), {rows}},
      {"ExactGelu", function(PointwiseKind::exact_gelu), {rows}},
      {"Silu", function(PointwiseKind::silu), {rows}},
  };
}

std::shared_ptr<ops::Binary> of_two(ops::BinaryKind kind) {
  return std::make_shared<ops::Binary>(kind);
}

std::vector<GradientCase> binary_cases() {
  using ops::BinaryKind;
  const Operand image{{2, 3, 2, 2}};
  return {
      {"AddOfChannels", of_two(BinaryKind::add), {image, {{3, 1, 1}}}},
      {"SubtractBothRepeated", of_two(BinaryKind::subtract), {{{2, 1, 3}}, {{1, 4, 1}}}},
      {"MultiplyOfRank1", of_two(BinaryKind::multiply), {{{2}}, image}},
      {"Divide", of_two(BinaryKind::divide), {image, {{2, 3, 1, 1}, Role::positive}}},
      {"Power", of_two(BinaryKind::power), {{{2, 3}, Role::positive}, {{3}, Role::positive}}},
      {"Minimum", of_two(BinaryKind::minimum), {{{3, 5}}, {{5}}}},
      {"Maximum", of_two(BinaryKind::maximum), {{{3, 5}}, {{3, 1}}}},
      {"Prelu", of_two(BinaryKind::prelu), {image, {{3, 1, 1}}}},
  };
}

std::vector<GradientCase> moving_cases() {
  return {
      {"ConcatOfChannels", concat(1), {{{2, 1, 2, 2}}, {{2, 3, 2, 2}}, {{2, 2, 2, 2}}}},
      {"ConcatOfBatch", concat(0), {{{2, 3}}, {{1, 3}}}},
      {"Slice", slice({0, 1}, {2, 2}, {1, 1}), {{{3, 4}}}},
      {"SliceStrided", slice({0, 0, 1, 0}, {2, 1, 2, 2}, {1, 1, 2, 3}), {{{2, 1, 5, 4}}}},
      {"Pad", pad({0, 1}, {0, 2}, {0, 0}), {{{2, 3}}}},
      {"PadBetween", pad({0, 1, 0}, {1, 0, 2}, {0, 1, 2}), {{{2, 3, 2}}}},
      {"Reshape", std::make_shared<ops::Reshape>(Shape{2, 6}), {{{2, 3, 2}}}},
      {"Transpose", std::make_shared<ops::Transpose>(std::vector{2, 0, 1}), {{{2, 3, 2}}}},
      {"AxisMap",
       axis_map(1, {{{2, 1.0F}}, {}, {{0, 0.5F}, {2, -0.25F}}, {{1, 2.0F}}}),
       {{{2, 3, 2}}}},
      {"Gather", std::make_shared<ops::Gather>(1), {{{2, 3, 2}}, {{2, 2}, Role::labels}}},
      {"ReduceMax", reduce_max({0, 2}), {{{2, 3, 2}}}},
      {"ReduceSum", reduce(false, {1}), {{{2, 3, 2}}}},
      {"ReduceMean", reduce(true, {0, 2}), {{{2, 3, 2}}}},
      {"Broadcast", broadcast({2, 3, 2}, {1}), {{{2, 2}}}},
      {"BroadcastScaled", broadcast({3, 2}, {0, 1}, 0.5F), {{{1}}}},
  };
}

std::vector<GradientCase> loss_cases() {
  const Operand rows{{4, 3}};
  const Operand labels{{4}, Role::labels};
  const Operand given{{4, 3}, Role::input};
  return {
      {"CrossEntropy", cross_entropy(), {rows, labels}},
      {"CrossEntropySmoothed", cross_entropy(0.1F), {rows, labels}},
      {"CrossEntropyWeighted", cross_entropy(0.1F, {0.5F, 2.0F, 1.0F}), {rows, labels}},
      {"AbsoluteError", element_loss(ops::ElementLossKind::absolute), {rows, given}},
      {"HuberError", element_loss(ops::ElementLossKind::huber, 0.62F), {rows, given}},
      {"BinaryCrossEntropy",
       element_loss(ops::ElementLossKind::binary_cross_entropy),
       {rows, given}},
      {"HalfSquaredError",
       std::make_shared<ops::HalfSquaredError>(),
       {{{3, 2, 2}}, {{3, 2, 2}, Role::input}}},
      {"L2Penalty", std::make_shared<ops::L2Penalty>(0.01F), {{{3, 2, 2}}}},
  };
}

std::vector<GradientCase> recurrence_cases() {
  using ops::RecurrenceKind;
  const Operand lengths{{3}, Role::labels};  // 0, 1 and 2 of 3 steps
  const auto operands = [](int64_t rows) {
    return std::vector<Operand>{{{3, 2, rows}}, {{rows, 2}}, {{rows}}};
  };
  const auto shorter = [&](int64_t rows) {
    return std::vector<Operand>{{{3, 3, rows}}, {{rows, 2}}, {{rows}}, lengths};
  };
  return {
      {"RnnTanh", recurrence(RecurrenceKind::rnn_tanh), operands(2)},
      {"RnnTanhReversed", recurrence(RecurrenceKind::rnn_tanh, true), operands(2)},
      {"RnnRelu", recurrence(RecurrenceKind::rnn_relu), operands(2)},
      {"RnnOfLengths", recurrence(RecurrenceKind::rnn_tanh), shorter(2)},
      {"Lstm", recurrence(RecurrenceKind::lstm), operands(8)},
      {"LstmReversed", recurrence(RecurrenceKind::lstm, true), operands(8)},
      {"LstmOfLengths", recurrence(RecurrenceKind::lstm), shorter(8)},
      {"LstmOfLengthsReversed", recurrence(RecurrenceKind::lstm, true), shorter(8)},
      {"Gru", recurrence(RecurrenceKind::gru), operands(6)},
      {"GruReversed", recurrence(RecurrenceKind::gru, true), operands(6)},
      {"GruOfLengths", recurrence(RecurrenceKind::gru), shorter(6)},
      {"GruOfLengthsReversed", recurrence(RecurrenceKind::gru, true), shorter(6)},
  };
}

std::vector<GradientCase> all_cases() {
  std::vector<GradientCase> all;
  for (const auto& part : {linear_cases(), image_cases(), pointwise_cases(), function_cases(),
                           binary_cases(), moving_cases(), loss_cases(), recurrence_cases()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

class OperationGradient : public testing::TestWithParam<GradientCase> {};

TEST_P(OperationGradient, EqualsFiniteDifferences) { check_gradients(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, OperationGradient, testing::ValuesIn(all_cases()),
                         [](const auto& test) { return test.param.title; });

TEST(OperationGradients, AreCheckedForEveryForwardOperation) {
  std::set<std::string> checked;
  for (const GradientCase& test : all_cases()) checked.emplace(test.op->name());
  // scale_by, constant, literal and softmax_cross_entropy only stand where no gradient passes.
  for (const char* name : {"conv",          "matmul",
                           "bias_add",      "batch_norm",
                           "lrn",           "max_pool",
                           "average_pool",  "relu",
                           "sigmoid",       "tanh",
                           "softmax",       "log_softmax",
                           "dropout",       "concat",
                           "slice",         "pad",
                           "add",           "multiply",
                           "scale",         "cast",
                           "reshape",       "reduce_sum",
                           "reduce_mean",   "broadcast",
                           "cross_entropy", "half_squared_error",
                           "l2_penalty",    "gelu",
                           "negative",      "absolute",
                           "square_root",   "exponential",
                           "logarithm",     "erf",
                           "reciprocal",    "leaky_relu",
                           "elu",           "softplus",
                           "hard_sigmoid",  "hard_swish",
                           "clip",          "exact_gelu",
                           "silu",          "broadcast_add",
                           "subtract",      "broadcast_multiply",
                           "divide",        "power",
                           "minimum",       "maximum",
                           "prelu",         "transpose",
                           "axis_map",      "gather",
                           "reduce_max",    "conv.backward_data",
                           "layer_norm",    "group_norm",
                           "rnn",           "lstm",
                           "gru",           "absolute_error",
                           "huber_error",   "binary_cross_entropy"}) {
    EXPECT_TRUE(checked.contains(name)) << name << " has no gradient check";
  }
}

}  // namespace
}  // namespace syrtos::test
