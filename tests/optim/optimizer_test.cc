#include "syrtos/optim/optimizer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"

namespace syrtos::optim {
namespace {

/// The formulas once more, one parameter at a time and in double precision.
class Naive {
 public:
  Naive(const OptimizerOptions& options, size_t n) : options_(options), a_(n), b_(n) {}

  void update(std::vector<double>& w, const std::vector<double>& gradients, bool decay,
              const Hyper& hyper) {
    const double t = static_cast<double>(hyper.step + 1);
    const double lr = hyper.learning_rate;
    for (size_t i = 0; i < w.size(); ++i) {
      double g = gradients[i] * hyper.gradient_scale;
      if (decay && options_.method != Method::adamw) g += hyper.weight_decay * w[i];
      if (decay && options_.method == Method::adamw) w[i] -= lr * hyper.weight_decay * w[i];
      const double epsilon = default_epsilon(options_.method);
      switch (options_.method) {
        case Method::sgd:
          w[i] -= lr * g;
          break;
        case Method::momentum:
          a_[i] = options_.momentum * a_[i] + g;
          w[i] -= lr * a_[i];
          break;
        case Method::nesterov:
          a_[i] = options_.momentum * a_[i] + g;
          w[i] -= lr * (g + options_.momentum * a_[i]);
          break;
        case Method::adam:
        case Method::adamw: {
          a_[i] = options_.beta1 * a_[i] + (1 - options_.beta1) * g;
          b_[i] = options_.beta2 * b_[i] + (1 - options_.beta2) * g * g;
          const double m = a_[i] / (1 - std::pow(options_.beta1, t));
          const double v = b_[i] / (1 - std::pow(options_.beta2, t));
          w[i] -= lr * m / (std::sqrt(v) + epsilon);
          break;
        }
        case Method::adagrad:
          a_[i] += g * g;
          w[i] -= lr * g / (std::sqrt(a_[i]) + epsilon);
          break;
        case Method::adadelta: {
          a_[i] = options_.rho * a_[i] + (1 - options_.rho) * g * g;
          const double delta = std::sqrt(b_[i] + epsilon) / std::sqrt(a_[i] + epsilon) * g;
          b_[i] = options_.rho * b_[i] + (1 - options_.rho) * delta * delta;
          w[i] -= lr * delta;
          break;
        }
      }
    }
  }

 private:
  OptimizerOptions options_;
  std::vector<double> a_, b_;
};

double wave(size_t i, int64_t step) {
  return std::sin(0.37 * static_cast<double>(i) + 1.3 * static_cast<double>(step)) * 0.5 + 0.1;
}

std::vector<Method> all_methods() {
  std::vector<Method> methods;
  for (const std::string& name : method_names()) methods.push_back(parse_method(name));
  return methods;
}

class EveryMethod : public testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(Optimizer, EveryMethod, testing::ValuesIn(all_methods()),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST_P(EveryMethod, FollowsTheNaiveDoubleVersionOverManySteps) {
  constexpr size_t kCount = 1000;
  constexpr size_t kSplit = 437;
  OptimizerOptions options{.method = GetParam()};
  Optimizer optimizer(options, kCount);
  Naive with_decay(options, kSplit);
  Naive without(options, kCount - kSplit);
  std::vector<float> w(kCount), g(kCount);
  std::vector<BFloat16> working(kCount);
  std::vector<double> first(kSplit), second(kCount - kSplit);
  for (size_t i = 0; i < kCount; ++i) {
    w[i] = static_cast<float>(wave(i, 77));
    (i < kSplit ? first[i] : second[i - kSplit]) = w[i];
  }
  const std::vector<Segment> segments = {{0, kSplit, true}, {kSplit, kCount - kSplit, false}};
  for (int64_t step = 0; step < 200; ++step) {
    std::vector<double> g1(kSplit), g2(kCount - kSplit);
    for (size_t i = 0; i < kCount; ++i) {
      g[i] = static_cast<float>(wave(i, step));
      (i < kSplit ? g1[i] : g2[i - kSplit]) = g[i];
    }
    const Hyper hyper{.learning_rate = 0.01 / (1 + 0.01 * static_cast<double>(step)),
                      .weight_decay = 0.02,
                      .gradient_scale = step % 3 == 0 ? 0.5 : 1.0,
                      .step = step};
    optimizer.update(w, g, working, segments, hyper);
    with_decay.update(first, g1, true, hyper);
    without.update(second, g2, false, hyper);
  }
  for (size_t i = 0; i < kCount; ++i) {
    const double expected = i < kSplit ? first[i] : second[i - kSplit];
    ASSERT_NEAR(w[i], expected, 2e-5 * (1 + std::abs(expected))) << i;
    ASSERT_EQ(working[i].bits, BFloat16(w[i]).bits) << i;
  }
}

TEST_P(EveryMethod, UpdatesAPartAsItWouldWithinTheWhole) {
  constexpr size_t kCount = 300;
  constexpr size_t kFirst = 97;
  constexpr size_t kPart = 150;
  const OptimizerOptions options{.method = GetParam()};
  Optimizer whole(options, kCount);
  Optimizer parts(options, kCount);
  std::vector<float> expected(kCount);
  for (size_t i = 0; i < kCount; ++i) expected[i] = static_cast<float>(wave(i, 5));
  std::vector<float> w = expected;
  const std::vector<Segment> segments = {{kFirst, 50, true}, {kFirst + 50, kPart - 50, false}};
  for (int64_t step = 0; step < 5; ++step) {
    std::vector<float> gradients(kCount);
    for (size_t i = 0; i < kCount; ++i) gradients[i] = static_cast<float>(wave(i, step));
    const Hyper hyper{.learning_rate = 0.1, .weight_decay = 0.01, .step = step};
    whole.update(expected, gradients, {}, segments, hyper);
    const std::vector<float> own(gradients.begin() + kFirst, gradients.begin() + kFirst + kPart);
    parts.update_part(w, own, kFirst, segments, hyper);
  }
  EXPECT_EQ(w, expected);
}

TEST_P(EveryMethod, ScalesRateAndDecayByTheFactorsOfASegment) {
  constexpr size_t kCount = 64;
  const OptimizerOptions options{.method = GetParam()};
  Optimizer optimizer(options, 2 * kCount);
  std::vector<Naive> naive(2, Naive(options, kCount));
  std::vector<float> w(2 * kCount), g(2 * kCount);
  std::vector<std::vector<double>> expected(2, std::vector<double>(kCount));
  for (size_t i = 0; i < w.size(); ++i) {
    w[i] = static_cast<float>(wave(i, 3));
    expected[i / kCount][i % kCount] = w[i];
  }
  const std::vector<Segment> segments = {{0, kCount, 1.0F / 64, 64}, {kCount, kCount, 0.5F, 1}};
  for (int64_t step = 0; step < 20; ++step) {
    for (size_t i = 0; i < g.size(); ++i) g[i] = static_cast<float>(wave(i, step));
    const Hyper hyper{.learning_rate = 1e-3, .weight_decay = 0.1, .step = step};
    optimizer.update(w, g, {}, segments, hyper);
    for (size_t s = 0; s < 2; ++s) {
      Hyper own = hyper;
      own.learning_rate *= segments[s].rate;
      own.weight_decay *= segments[s].decay;
      const auto from = g.begin() + static_cast<std::ptrdiff_t>(segments[s].offset);
      naive[s].update(expected[s], {from, from + kCount}, true, own);
    }
  }
  for (size_t i = 0; i < w.size(); ++i) {
    const double value = expected[i / kCount][i % kCount];
    ASSERT_NEAR(w[i], value, 2e-5 * (1 + std::abs(value))) << i;
  }
}

TEST_P(EveryMethod, KeepsPaddingAtZeroAndWhatNoSegmentCoversAsItWas) {
  constexpr size_t kCount = 100;
  Optimizer optimizer({.method = GetParam()}, kCount);
  std::vector<float> w(kCount), g(kCount);
  std::vector<BFloat16> working(kCount);
  for (size_t i = 0; i < 40; ++i) w[i] = g[i] = 1;  // 40..60 are padding
  for (size_t i = 60; i < kCount; ++i) w[i] = g[i] = 7;
  const std::vector<Segment> segments = {{0, 60, true}};
  for (int64_t step = 0; step < 5; ++step) {
    optimizer.update(w, g, working, segments,
                     {.learning_rate = 0.1, .weight_decay = 0.1, .step = step});
  }
  for (size_t i = 0; i < 40; ++i) EXPECT_LT(w[i], 1);
  for (size_t i = 40; i < 60; ++i) {
    EXPECT_EQ(w[i], 0) << i;
    EXPECT_EQ(working[i].bits, 0) << i;
    for (const Optimizer::Slot& slot : optimizer.slots()) EXPECT_EQ(slot.span()[i], 0) << i;
  }
  for (size_t i = 60; i < kCount; ++i) EXPECT_EQ(w[i], 7);
}

TEST_P(EveryMethod, GivesTheSameBitsForAnyNumberOfThreads) {
  constexpr size_t kCount = 300007;
  std::vector<std::vector<float>> results;
  std::vector<std::vector<BFloat16>> copies;
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    Optimizer optimizer({.method = GetParam()}, kCount);
    std::vector<float> w(kCount), g(kCount);
    std::vector<BFloat16> working(kCount);
    for (size_t i = 0; i < kCount; ++i) {
      w[i] = static_cast<float>(wave(i, 5));
      g[i] = static_cast<float>(wave(i, 3));
    }
    // Edges that are not multiples of a vector.
    const std::vector<Segment> segments = {
        {0, 1001, true}, {1001, 7, false}, {1008, kCount - 1008, true}};
    for (int64_t step = 0; step < 3; ++step) {
      optimizer.update(w, g, working, segments,
                       {.learning_rate = 0.1, .weight_decay = 1e-3, .step = step});
    }
    results.push_back(w);
    copies.push_back(working);
  }
  for (size_t k = 1; k < results.size(); ++k) {
    for (size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(results[0][i]), std::bit_cast<uint32_t>(results[k][i]));
      ASSERT_EQ(copies[0][i].bits, copies[k][i].bits);
    }
  }
}

/// Weight 1 with gradients 0.5, -0.25, 1, 0.125, weight decay 0.1: what PyTorch computes.
struct Published {
  Method method;
  double learning_rate;
  double expected;
};

class AfterFourSteps : public testing::TestWithParam<Published> {};

INSTANTIATE_TEST_SUITE_P(Optimizer, AfterFourSteps,
                         testing::Values(Published{Method::sgd, 0.1, 0.825083560},
                                         Published{Method::momentum, 0.1, 0.608725360},
                                         Published{Method::nesterov, 0.1, 0.479537655},
                                         Published{Method::adam, 0.1, 0.713207929},
                                         Published{Method::adamw, 0.1, 0.712411699},
                                         Published{Method::adagrad, 0.1, 0.822430503},
                                         Published{Method::adadelta, 1.0, 0.992841296}),
                         [](const auto& info) {
                           return std::string(to_string(info.param.method));
                         });

TEST_P(AfterFourSteps, IsWherePytorchIs) {
  Optimizer optimizer({.method = GetParam().method}, 1);
  std::vector<float> w = {1};
  const std::vector<float> gradients = {0.5F, -0.25F, 1, 0.125F};
  const std::vector<Segment> segments = {{0, 1, true}};
  for (size_t step = 0; step < gradients.size(); ++step) {
    optimizer.update(w, {&gradients[step], 1}, {}, segments,
                     {.learning_rate = GetParam().learning_rate,
                      .weight_decay = 0.1,
                      .step = static_cast<int64_t>(step)});
  }
  EXPECT_NEAR(w[0], GetParam().expected, 2e-6);
}

TEST(Optimizer, MergesNeighboursThatAreTreatedAlike) {
  const std::vector<Segment> segments = {
      {30, 10, false}, {0, 10, true}, {10, 20, true}, {50, 5, false}, {40, 8, false}};
  const std::vector<Segment> result = merged(segments);
  ASSERT_EQ(result.size(), 3U);
  EXPECT_EQ(result[0].elements, 30U);
  EXPECT_EQ(result[1].offset, 30U);
  EXPECT_EQ(result[1].elements, 18U);
  EXPECT_EQ(result[2].offset, 50U);
}

TEST(Optimizer, KeepsNeighboursOfOtherFactorsApart) {
  const std::vector<Segment> segments = {{0, 10, 1, 1}, {10, 10, 1, 64}, {20, 10, 0.5F, 64}};
  EXPECT_EQ(merged(segments).size(), 3U);
}

TEST(Optimizer, RefusesAnUnknownNameAndNamesTheClosest) {
  try {
    parse_method("adaam");
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_NE(std::string(error.what()).find("'adam'"), std::string::npos) << error.what();
  }
}

TEST(Optimizer, RefusesOptionsOutsideOfTheirRange) {
  EXPECT_THROW(Optimizer({.method = Method::momentum, .momentum = 1.5}, 1), RequestError);
  EXPECT_THROW(Optimizer({.method = Method::adam, .beta2 = 1.0}, 1), RequestError);
  EXPECT_THROW(Optimizer({.method = Method::adam, .epsilon = -1}, 1), RequestError);
}

}  // namespace
}  // namespace syrtos::optim
