// The naive references against numbers worked out by hand: everything else is tested against them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/gelu.h"
#include "syrtos/ops/softmax.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {
namespace {

using ops::PoolKind;
using ops::RefTensor;
using testing::DoubleNear;
using testing::Pointwise;

RefTensor tensor(Shape shape, std::vector<double> values) {
  RefTensor result(shape);
  EXPECT_EQ(result.values.size(), values.size());
  result.values = std::move(values);
  return result;
}

std::vector<RefTensor> run(const ops::Op& op, const std::vector<RefTensor>& inputs,
                           const ops::Step& step = {}) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const RefTensor& input : inputs) types.push_back({DType::f32, input.shape});
  // Labels are the only integers.
  if (op.name().find("cross_entropy") != std::string_view::npos) types[1].dtype = DType::s32;
  std::vector<RefTensor> outputs;
  for (const TensorType& type : op.infer(types)) outputs.emplace_back(type.shape);
  op.reference(inputs, outputs, step);
  return outputs;
}

void expect_values(const RefTensor& found, const std::vector<double>& expected) {
  EXPECT_THAT(found.values, Pointwise(DoubleNear(1e-6), expected));
}

TEST(Reference, ConvSumsOverTheWindow) {
  const RefTensor src = tensor({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const RefTensor weights = tensor({1, 1, 2, 2}, {1, 10, 100, 1000});
  expect_values(run(*conv(window_2d(2)), {src, weights})[0], {5421, 6532, 8754, 9865});
}

TEST(Reference, ConvPadsStridesAndDilates) {
  ops::Window window = window_1d(2, 2);
  window.pad_begin = {1, 0};
  window.dilation = {2, 1};
  const RefTensor src = tensor({1, 1, 4}, {1, 2, 3, 4});
  const RefTensor weights = tensor({1, 1, 2}, {1, 10});
  // Pairs (-1, 1) and (1, 3) of the positions; -1 is padding.
  expect_values(run(*conv(window), {src, weights})[0], {20, 42});
}

TEST(Reference, ConvGroupsSeeTheirOwnChannels) {
  const RefTensor src = tensor({1, 2, 1, 1}, {3, 5});
  const RefTensor weights = tensor({2, 1, 1, 1}, {2, 7});
  expect_values(run(*conv(window_2d(1), 2), {src, weights})[0], {6, 35});
}

TEST(Reference, FusedConvAddsBiasThenCuts) {
  auto op = conv(window_2d(1));
  op->bias = op->relu = true;
  const RefTensor src = tensor({1, 1, 1, 2}, {1, -1});
  const RefTensor weights = tensor({2, 1, 1, 1}, {2, -2});
  expect_values(run(*op, {src, weights, tensor({2}, {1, -1})})[0], {3, 0, 0, 1});
}

TEST(Reference, MatMulTransposes) {
  const RefTensor a = tensor({2, 2}, {1, 2, 3, 4});
  const RefTensor b = tensor({2, 2}, {5, 6, 7, 8});
  expect_values(run(*matmul(false, false), {a, b})[0], {19, 22, 43, 50});
  expect_values(run(*matmul(false, true), {a, b})[0], {17, 23, 39, 53});
  expect_values(run(*matmul(true, false), {a, b})[0], {26, 30, 38, 44});
}

TEST(Reference, BatchNormUsesTheBatchInTraining) {
  const RefTensor src = tensor({2, 1, 1, 2}, {1, 2, 3, 4});
  const std::vector<RefTensor> inputs{src, tensor({1}, {2}), tensor({1}, {1}), tensor({1}, {0}),
                                      tensor({1}, {1})};
  const auto outputs = run(*batch_norm(), inputs);
  const double inv_std = 1 / std::sqrt(1.25 + 1e-5);
  expect_values(outputs[0], {1 - 3 * inv_std, 1 - inv_std, 1 + inv_std, 1 + 3 * inv_std});
  expect_values(outputs[1], {2.5});
  expect_values(outputs[2], {inv_std});
}

TEST(Reference, BatchNormUsesRunningStatisticsInInference) {
  const std::vector<RefTensor> inputs{tensor({1, 1, 1, 2}, {1, 5}), tensor({1}, {2}),
                                      tensor({1}, {1}), tensor({1}, {3}), tensor({1}, {4})};
  const double inv_std = 1 / std::sqrt(4 + 1e-5);
  expect_values(run(*batch_norm(false), inputs)[0], {1 - 4 * inv_std, 1 + 4 * inv_std});
}

TEST(Reference, LocalResponseNormDividesByTheNeighbours) {
  // (k + alpha / 3 * sum)^-beta with k = 2 and alpha = 0.5; sums 5, 14, 13.
  const auto factor = [](double sum) { return std::pow(2 + 0.5 / 3 * sum, -0.75); };
  expect_values(run(*lrn(3), {tensor({1, 3, 1}, {1, 2, 3})})[0],
                {1 * factor(5), 2 * factor(14), 3 * factor(13)});
}

TEST(Reference, MaxPoolTakesTheFirstOfEqualMaxima) {
  const RefTensor src = tensor({1, 1, 2, 4}, {1, 7, 5, 5, 7, 2, 5, 0});
  const auto outputs = run(*pool(PoolKind::max, window_2d(2, 2)), {src});
  expect_values(outputs[0], {7, 5});
  expect_values(outputs[1], {1, 2});
}

TEST(Reference, MaxPoolIgnoresPadding) {
  const RefTensor src = tensor({1, 1, 2}, {-3, -2});
  expect_values(run(*pool(PoolKind::max, window_1d(2, 1, 1)), {src})[0], {-3, -2, -2});
}

TEST(Reference, AveragePoolCountsPaddingWhereAsked) {
  const RefTensor src = tensor({1, 1, 2}, {4, 8});
  expect_values(run(*pool(PoolKind::average, window_1d(2, 1, 1)), {src})[0], {4, 6, 8});
  expect_values(run(*pool(PoolKind::average, window_1d(2, 1, 1), true), {src})[0], {2, 6, 4});
}

TEST(Reference, AdaptivePoolWindowsOverlapWhereTheyMust) {
  const RefTensor src = tensor({1, 1, 5}, {1, 2, 3, 4, 5});
  // Windows 0..2 and 2..5.
  expect_values(run(*adaptive_pool(PoolKind::average, 2, 1), {src})[0], {2, 4});
  expect_values(run(*adaptive_pool(PoolKind::average, 1, 1), {src})[0], {3});
}

TEST(Reference, ActivationsFollowTheirFormulas) {
  const RefTensor src = tensor({2}, {-1, 2});
  expect_values(run(ops::Activation(ops::ActivationKind::relu), {src})[0], {0, 2});
  expect_values(run(ops::Activation(ops::ActivationKind::sigmoid), {src})[0],
                {1 / (1 + std::exp(1.0)), 1 / (1 + std::exp(-2.0))});
  expect_values(run(ops::Activation(ops::ActivationKind::tanh), {src})[0],
                {std::tanh(-1.0), std::tanh(2.0)});
}

TEST(Reference, GeluIsNearTheFormWithTheErrorFunction) {
  for (double x = -6; x <= 6; x += 0.25) {
    const double exact = x * (1 + std::erf(x / std::sqrt(2.0))) / 2;
    EXPECT_NEAR(run(ops::Gelu(), {tensor({1}, {x})})[0][0], exact, 5e-4) << x;
  }
}

TEST(Reference, SoftmaxDoesNotOverflow) {
  const RefTensor src = tensor({1, 2}, {1000, 1000 + std::log(3.0)});
  expect_values(run(ops::Softmax(false), {src})[0], {0.25, 0.75});
  expect_values(run(ops::Softmax(true), {src})[0], {std::log(0.25), std::log(0.75)});
}

TEST(Reference, DropoutKeepsTheMeanAndDependsOnTheSampleOnly) {
  RefTensor ones(Shape{8, 500});
  std::fill(ones.values.begin(), ones.values.end(), 1.0);
  const ops::Step step{7, 3, 0};
  const RefTensor whole = run(*dropout(0.25F), {ones}, step)[0];
  double sum = 0;
  for (const double value : whole.values) {
    EXPECT_TRUE(value == 0 || std::fabs(value - 1 / 0.75) < 1e-6);
    sum += value;
  }
  EXPECT_NEAR(sum / 4000, 1.0, 0.05);
  // The second half of the batch on another worker.
  RefTensor half(Shape{4, 500});
  half.values.assign(2000, 1.0);
  const RefTensor second = run(*dropout(0.25F), {half}, {7, 3, 4})[0];
  EXPECT_TRUE(std::equal(second.values.begin(), second.values.end(), whole.values.begin() + 2000));
  EXPECT_NE(run(*dropout(0.25F, 1), {ones}, step)[0].values, whole.values);
  EXPECT_NE(run(*dropout(0.25F), {ones}, {7, 4, 0})[0].values, whole.values);
}

TEST(Reference, ConcatSliceAndPadMoveElements) {
  const RefTensor a = tensor({2, 1}, {1, 2});
  const RefTensor b = tensor({2, 2}, {3, 4, 5, 6});
  expect_values(run(*concat(1), {a, b})[0], {1, 3, 4, 2, 5, 6});
  expect_values(run(*slice({0, 0}, {1, 2}, {1, 2}), {tensor({1, 3}, {1, 2, 3})})[0], {1, 3});
  expect_values(run(*pad({1}, {2}, {1}), {tensor({2}, {7, 8})})[0], {0, 7, 0, 8, 0, 0});
}

TEST(Reference, ReductionsAndBroadcast) {
  const RefTensor src = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_values(run(*reduce(false, {0}), {src})[0], {5, 7, 9});
  expect_values(run(*reduce(true, {1}), {src})[0], {2, 5});
  expect_values(run(*reduce(true, {0, 1}), {src})[0], {3.5});
  expect_values(run(*broadcast({2, 2}, {0}, 0.5F), {tensor({2}, {2, 4})})[0], {1, 2, 1, 2});
}

TEST(Reference, ArithmeticAndConstants) {
  const RefTensor a = tensor({2}, {1, -2});
  const RefTensor b = tensor({2}, {3, -4});
  auto add_relu = std::make_shared<ops::Add>();
  add_relu->relu = true;
  expect_values(run(ops::Add(), {a, b})[0], {4, -6});
  expect_values(run(*add_relu, {a, b})[0], {4, 0});
  expect_values(run(ops::Multiply(), {a, b})[0], {3, 8});
  expect_values(run(ops::Scale(0.5F), {a})[0], {0.5, -1});
  expect_values(run(ops::ScaleBy(), {a, tensor({1}, {3})})[0], {3, -6});
}

TEST(Reference, CrossEntropySmoothsTheTarget) {
  const RefTensor log_p =
      tensor({2, 2}, {std::log(0.5), std::log(0.5), std::log(0.9), std::log(0.1)});
  const RefTensor labels = tensor({2}, {0, 1});
  const double plain = -(std::log(0.5) + std::log(0.1)) / 2;
  expect_values(run(*cross_entropy(), {log_p, labels})[0], {plain});
  const double other = -(std::log(0.5) + std::log(0.9)) / 2;
  expect_values(run(*cross_entropy(0.2F), {log_p, labels})[0], {0.9 * plain + 0.1 * other});
}

TEST(Reference, SoftmaxCrossEntropyGivesProbabilities) {
  const RefTensor logits = tensor({1, 2}, {0, std::log(3.0)});
  const auto outputs = run(ops::SoftmaxCrossEntropy(), {logits, tensor({1}, {1})});
  expect_values(outputs[0], {-std::log(0.75)});
  expect_values(outputs[1], {0.25, 0.75});
}

TEST(Reference, LossesAreMeansOverTheBatch) {
  const RefTensor a = tensor({2, 2}, {1, 2, 3, 4});
  const RefTensor b = tensor({2, 2}, {0, 0, 0, 0});
  expect_values(run(ops::HalfSquaredError(), {a, b})[0], {7.5});
  expect_values(run(ops::L2Penalty(0.1F), {a})[0], {1.5});
}

}  // namespace
}  // namespace syrtos::test
