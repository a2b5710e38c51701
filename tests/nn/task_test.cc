#include "syrtos/nn/task.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/reference.h"
#include "syrtos/nn/model.h"

namespace syrtos::nn {
namespace {

constexpr int64_t kSamples = 5;
constexpr int64_t kOutputs = 3;

/// A parameter as the outputs, so that the loss has a gradient.
struct Small {
  graph::Graph graph;
  ValueId outputs, targets, loss;

  explicit Small(const Task& task, bool training = true) {
    Builder builder(graph, DType::f32, training);
    outputs = graph.add_parameter("outputs", {DType::f32, {kSamples, kOutputs}}, 0);
    targets = add_targets(graph, task, kSamples, kOutputs);
    loss = add_loss(builder, task, outputs, targets, training);
    graph.set_output("loss", loss);
  }
};

std::vector<double> random_values(unsigned seed, size_t count) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> values(count);
  for (double& value : values) value = normal(random);
  return values;
}

double loss_of(const Small& small, const std::vector<double>& outputs,
               const std::vector<double>& targets) {
  ops::RefTensor out({kSamples, kOutputs}), target(small.graph.type(small.targets).shape);
  out.values = outputs;
  target.values = targets;
  return graph::evaluate_reference(small.graph, {{small.outputs, out}, {small.targets, target}}, {})
      .at(small.loss)[0];
}

/// The mean of ((output - target)^2 + 1)^1.5.
constexpr const char* kOwn = R"({"of": "values",
    "layers": [{"op": "subtract", "name": "d", "of": ["output", "target"]},
               {"op": "multiply", "name": "s", "of": ["d", "d"]},
               {"op": "shift", "name": "t", "of": ["s"], "by": 1},
               {"op": "power", "name": "p", "of": ["t"], "exponent": 1.5}]})";

TEST(Task, LossesAreTheirFormulas) {
  const std::vector<double> x = random_values(1, kSamples * kOutputs);
  const std::vector<double> t = random_values(2, kSamples * kOutputs);
  double squared = 0, absolute = 0, huber = 0, binary = 0;
  std::vector<double> labels;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(x[i] - t[i]);
    labels.push_back(t[i] > 0 ? 1 : 0);
    squared += d * d / 2;
    absolute += d;
    huber += d <= 0.5 ? d * d / 2 : 0.5 * (d - 0.25);
    const double p = 1 / (1 + std::exp(-x[i]));
    binary -= std::log(labels[i] > 0 ? p : 1 - p);
  }
  const auto n = static_cast<double>(x.size());
  EXPECT_NEAR(loss_of(Small({.loss = Loss::squared_error}), x, t), squared / n, 1e-6);
  EXPECT_NEAR(loss_of(Small({.loss = Loss::absolute_error}), x, t), absolute / n, 1e-9);
  EXPECT_NEAR(loss_of(Small({.loss = Loss::huber, .delta = 0.5}), x, t), huber / n, 1e-9);
  EXPECT_NEAR(loss_of(Small({.loss = Loss::binary_cross_entropy}), x, labels), binary / n, 1e-9);
}

/// Shares of classes that are all of one class are that class.
TEST(Task, MixedTargetsOfOneClassAreThatClass) {
  const std::vector<double> x = random_values(3, kSamples * kOutputs);
  const std::vector<double> labels{0, 2, 1, 1, 0};
  std::vector<double> shares(kSamples * kOutputs);
  for (size_t n = 0; n < labels.size(); ++n) {
    shares[n * kOutputs + static_cast<size_t>(labels[n])] = 1;
  }
  for (const double smoothing : {0.0, 0.2}) {
    for (const std::vector<float>& weights :
         {std::vector<float>{}, std::vector<float>{0.5F, 2, 1}}) {
      const Task task{.label_smoothing = smoothing, .class_weights = weights};
      Task mixed = task;
      mixed.mixed = true;
      EXPECT_NEAR(loss_of(Small(task), x, labels), loss_of(Small(mixed), x, shares), 1e-6)
          << smoothing << " " << weights.size();
    }
  }
}

TEST(Task, MixedTargetsAreTheMeanOfTheirClasses) {
  const std::vector<double> x = random_values(4, kSamples * kOutputs);
  std::vector<double> halves(kSamples * kOutputs);
  for (size_t n = 0; n < kSamples; ++n) halves[n * kOutputs] = halves[n * kOutputs + 2] = 0.5;
  const std::vector<double> first(kSamples, 0), last(kSamples, 2);
  const Small single({}), mixed({.mixed = true});
  EXPECT_NEAR(loss_of(mixed, x, halves), (loss_of(single, x, first) + loss_of(single, x, last)) / 2,
              1e-6);
}

std::vector<double> softmax_of(const std::vector<double>& row, double temperature) {
  std::vector<double> p;
  double sum = 0;
  for (const double x : row) sum += p.emplace_back(std::exp(x / temperature));
  for (double& value : p) value /= sum;
  return p;
}

// (1 - share) * cross entropy of the label + share * T^2 * cross entropy of the softened answers.
TEST(Task, ATeacherCountsBesideTheLabels) {
  using Pair = std::pair<double, double>;
  for (const auto& [share, temperature] : {Pair(0.7, 3), Pair(0.25, 1), Pair(1, 2)}) {
    const Task task{.mixed = true, .teaching = {.share = share, .temperature = temperature}};
    EXPECT_EQ(task.target_values(kOutputs), 2 * kOutputs);
    const Small small(task);
    const std::vector<double> x = random_values(1, kSamples * kOutputs);
    std::vector<double> targets;
    double expected = 0;
    for (int64_t n = 0; n < kSamples; ++n) {
      const auto row = x.begin() + n * kOutputs;
      const std::vector<double> scores(row, row + kOutputs);
      const std::vector<double> taught =
          softmax_of(random_values(10 + static_cast<unsigned>(n), kOutputs), 1);
      const auto label = static_cast<size_t>(n % kOutputs);
      const bool known = n != 2;  // nobody knows the label of that one
      for (size_t k = 0; k < kOutputs; ++k) targets.push_back(known && k == label ? 1 : 0);
      targets.insert(targets.end(), taught.begin(), taught.end());
      if (known) expected -= (1 - share) * std::log(softmax_of(scores, 1)[label]) / kSamples;
      const std::vector<double> softened = softmax_of(scores, temperature);
      for (size_t k = 0; k < kOutputs; ++k) {
        expected -=
            share * temperature * temperature * taught[k] * std::log(softened[k]) / kSamples;
      }
    }
    EXPECT_NEAR(loss_of(small, x, targets), expected, 1e-6) << share;
  }
}

TEST(Task, WhatIsForTrainingIsLeftOutOfTests) {
  const std::vector<double> x = random_values(5, kSamples * kOutputs);
  const std::vector<double> labels{0, 2, 1, 1, 0};
  const Task task{.label_smoothing = 0.3, .class_weights = {3, 1, 1}};
  EXPECT_NEAR(loss_of(Small(task, false), x, labels), loss_of(Small({}), x, labels), 1e-12);
  EXPECT_GT(std::abs(loss_of(Small(task), x, labels) - loss_of(Small({}), x, labels)), 1e-3);
}

TEST(Task, GradientsAreTheDifferencesOfTheLoss) {
  const std::vector<double> x = random_values(6, kSamples * kOutputs);
  std::vector<double> shares = random_values(7, kSamples * kOutputs);
  for (double& share : shares) share = std::abs(share) / 4;
  for (const Task& task :
       {Task{.loss = Loss::squared_error}, Task{.loss = Loss::huber, .delta = 0.5},
        Task{.loss = Loss::binary_cross_entropy},
        Task{.label_smoothing = 0.1, .class_weights = {1, 2, 3}, .mixed = true},
        parse_loss(kOwn)}) {
    Small small(task);
    const Small forward(task);
    graph::add_gradients(small.graph, small.loss);
    ops::RefTensor out({kSamples, kOutputs}), target({kSamples, kOutputs});
    out.values = x;
    target.values = shares;
    const auto computed =
        graph::evaluate_reference(small.graph, {{small.outputs, out}, {small.targets, target}}, {});
    const ValueId gradient = small.graph.gradients()[0].gradient;
    for (size_t i = 0; i < x.size(); ++i) {
      std::vector<double> above = x, below = x;
      above[i] += 1e-5;
      below[i] -= 1e-5;
      EXPECT_NEAR(computed.at(gradient)[static_cast<int64_t>(i)],
                  (loss_of(forward, above, shares) - loss_of(forward, below, shares)) / 2e-5, 1e-6)
          << loss_text(task) << " " << i;
    }
  }
}

TEST(Task, AnOwnLossOfABatchIsTheMeanOfItsSamples) {
  const std::vector<double> x = random_values(8, kSamples * kOutputs);
  const std::vector<double> targets = random_values(9, kSamples * kOutputs);
  const Task task = parse_loss(kOwn);
  double sum = 0;
  for (size_t n = 0; n < kSamples; ++n) {
    const std::vector<float> row(x.begin() + static_cast<ptrdiff_t>(n * kOutputs),
                                 x.begin() + static_cast<ptrdiff_t>((n + 1) * kOutputs));
    const std::span<const double> wanted = std::span(targets).subspan(n * kOutputs, kOutputs);
    double expected = 0;
    for (size_t k = 0; k < kOutputs; ++k) {
      const double off = row[k] - wanted[k];
      expected += std::pow(off * off + 1, 1.5) / kOutputs;
    }
    EXPECT_NEAR(task.own->value(row, wanted), expected, 1e-5);
    sum += expected;
  }
  EXPECT_NEAR(loss_of(Small(task), x, targets), sum / kSamples, 1e-5);
}

TEST(Task, AnOwnLossKeepsItsTextAndWhatItIsOf) {
  const Task task = parse_loss(kOwn);
  EXPECT_EQ(loss_text(task), kOwn);
  EXPECT_EQ(task, parse_loss(kOwn));
  EXPECT_NE(task, Task{.loss = Loss::squared_error});
  EXPECT_EQ(parse_loss(loss_text({.own = task.own->with("classes")})).loss, Loss::cross_entropy);
  EXPECT_EQ(parse_loss(loss_text({.own = task.own->with("labels")})).loss,
            Loss::binary_cross_entropy);
}

TEST(Task, AnOwnLossOfPartsSeesEachOfThem) {
  const Task task =
      parse_loss(R"({"parts": [{"name": "a", "shape": [1]}, {"name": "b", "shape": [2]}],
      "layers": [{"op": "subtract", "name": "x", "of": ["output.a", "target.a"]},
                 {"op": "multiply", "name": "y", "of": ["output.b", "target.b"]},
                 {"op": "sum", "name": "z", "of": ["y"], "axes": 1, "keep": true},
                 {"op": "add", "name": "all", "of": ["x", "z"]}]})");
  const std::vector<float> outputs = {1, 2, 3};
  EXPECT_NEAR(task.own->value(outputs, std::vector<double>{5, 7, 11}), 1 - 5 + 14 + 33, 1e-9);
  EXPECT_THROW(task.own->value(std::vector<float>{1, 2}, std::vector<double>{1, 2}), RequestError);
}

TEST(Task, OwnLossesThatAreNoneAreRefused) {
  for (const char* text :
       {"{", "{}", R"({"layers": []})",
        R"({"of": 3, "layers": [{"op": "abs", "name": "a", "of": ["output"]}]})",
        R"({"layers": [{"op": "abs", "name": "a", "of": ["input"]}]})",
        R"({"parts": 3, "layers": [{"op": "abs", "name": "a", "of": ["output"]}]})"}) {
    EXPECT_THROW(parse_loss(text), RequestError) << text;
  }
  const Task dense =
      parse_loss(R"({"layers": [{"op": "linear", "name": "a", "of": ["output"], "out": 2}]})");
  EXPECT_THROW(Small{dense}, RequestError);
}

TEST(Task, NamesAreReadAndWritten) {
  for (const char* text :
       {"cross-entropy", "squared-error", "l1", "huber", "huber:0.25", "binary-cross-entropy"}) {
    EXPECT_EQ(loss_text(parse_loss(text)), text);
  }
  EXPECT_EQ(parse_loss("mse").loss, Loss::squared_error);
  EXPECT_EQ(parse_loss("bce").loss, Loss::binary_cross_entropy);
  EXPECT_EQ(loss_text(parse_loss("mae")), "l1");
  for (const char* text :
       {"", "hubert", "huber:0", "huber:x", "huber:-1", "huber:1e30", "l1:2", "huber:1:2"}) {
    EXPECT_THROW(parse_loss(text), RequestError) << text;
  }
}

}  // namespace
}  // namespace syrtos::nn
