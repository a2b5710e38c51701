#include "syrtos/nn/init.h"

#include <gtest/gtest.h>

#include <cmath>

#include "syrtos/base/parallel.h"

namespace syrtos::nn {
namespace {

struct Moments {
  double mean = 0;
  double variance = 0;
  double largest = 0;
};

Moments moments_of(const Tensor& tensor) {
  Moments m;
  const auto n = static_cast<double>(tensor.elements());
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    m.mean += tensor.get(i) / n;
    m.largest = std::max(m.largest, std::abs(static_cast<double>(tensor.get(i))));
  }
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    m.variance += (tensor.get(i) - m.mean) * (tensor.get(i) - m.mean) / n;
  }
  return m;
}

Tensor made(const Shape& shape, const Initializer& initializer, uint64_t seed = 1,
            std::string_view name = "conv1.weight") {
  Tensor tensor({DType::f32, shape});
  initialize(tensor, initializer, seed, name);
  return tensor;
}

TEST(Fans, CountWhatAnOutputSeesAndWhereAnInputGoes) {
  EXPECT_EQ(fans_of({10, 84}).in, 84);
  EXPECT_EQ(fans_of({10, 84}).out, 10);
  EXPECT_EQ(fans_of({64, 3, 7, 7}).in, 3 * 49);
  EXPECT_EQ(fans_of({64, 3, 7, 7}).out, 64 * 49);
  EXPECT_EQ(fans_of({16, 6, 5}).in, 30);
}

struct Expected {
  Initializer initializer;
  double variance;
  bool bounded;
};

class Spread : public testing::TestWithParam<Expected> {};

TEST_P(Spread, HasTheMeanVarianceAndBoundOfItsFormula) {
  const Expected& expected = GetParam();
  const Moments m = moments_of(made({128, 64, 3, 3}, expected.initializer));
  const double n = 128 * 64 * 9;
  EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(expected.variance / n));
  EXPECT_NEAR(m.variance / expected.variance, 1, 0.03);
  const double bound = std::sqrt(3 * expected.variance);
  if (expected.bounded) {
    EXPECT_LE(m.largest, bound * 1.000001);
    EXPECT_GT(m.largest, bound * 0.999);
  } else {
    EXPECT_GT(m.largest, 3.5 * std::sqrt(expected.variance)) << "a normal value has no bound";
  }
}

constexpr double kIn = 64 * 9;
constexpr double kOut = 128 * 9;
INSTANTIATE_TEST_SUITE_P(
    Kinds, Spread,
    testing::Values(Expected{Initializer::uniform(0.3F), 0.09 / 3, true},
                    Expected{Initializer::glorot_uniform(), 2 / (kIn + kOut), true},
                    Expected{Initializer::glorot_normal(), 2 / (kIn + kOut), false},
                    Expected{Initializer::he_uniform(), 2 / kIn, true},
                    Expected{Initializer::he_normal(), 2 / kIn, false},
                    Expected{Initializer::lecun_uniform(), 1 / kIn, true},
                    Expected{Initializer::lecun_normal(), 1 / kIn, false}),
    [](const auto& info) {
      std::string name = to_string(info.param.initializer);
      return name.substr(0, name.find(' '));
    });

TEST(Init, ConstantIsTheSameEverywhere) {
  for (const float value : made({3, 5}, Initializer::constant(0.25F)).to_vector()) {
    EXPECT_EQ(value, 0.25F);
  }
}

// Rows of a wide matrix, columns of a tall one: their products are gain^2 or 0.
TEST(Init, OrthogonalVectorsHaveTheGainAsLength) {
  for (const Shape& shape : {Shape{12, 3, 3, 3}, Shape{40, 12}, Shape{16, 16}}) {
    const Tensor tensor = made(shape, Initializer::orthogonal(2));
    const int64_t rows = shape[0];
    const int64_t columns = shape.elements_from(1);
    const bool wide = rows <= columns;
    const int64_t count = wide ? rows : columns;
    const int64_t length = wide ? columns : rows;
    const auto at = [&](int64_t vector, int64_t i) {
      return static_cast<double>(tensor.get(wide ? vector * columns + i : i * columns + vector));
    };
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b <= a; ++b) {
        double product = 0;
        for (int64_t i = 0; i < length; ++i) product += at(a, i) * at(b, i);
        EXPECT_NEAR(product, a == b ? 4 : 0, 1e-5) << to_string(shape) << " " << a << " " << b;
      }
    }
  }
}

TEST(Init, DiracPassesInputsOnAndFillsTheRest) {
  const Tensor kernel = made({7, 4, 3, 3}, Initializer::dirac());
  double rest = 0;
  for (int64_t i = 0; i < kernel.elements(); ++i) {
    const int64_t out = i / 36;
    if (out < 4) {
      EXPECT_EQ(kernel.get(i), i % 36 == out * 9 + 4 ? 1 : 0) << i;
    } else {
      EXPECT_LE(std::abs(kernel.get(i)), 1.0 / 6) << i;
      rest = std::max<double>(rest, std::abs(kernel.get(i)));
    }
  }
  EXPECT_GT(rest, 0.9 / 6);
  const Tensor narrow = made({2, 3, 1, 1}, Initializer::dirac());
  EXPECT_EQ(narrow.to_vector(), (std::vector<float>{1, 0, 0, 0, 1, 0}));
}

TEST(Init, DependsOnSeedAndNameAndNothingElse) {
  const Initializer he = Initializer::he_normal();
  const auto first = made({64, 33, 3, 3}, he).to_vector();
  EXPECT_EQ(made({64, 33, 3, 3}, he).to_vector(), first);
  EXPECT_NE(made({64, 33, 3, 3}, he, 2).to_vector(), first);
  EXPECT_NE(made({64, 33, 3, 3}, he, 1, "conv2.weight").to_vector(), first);

  const ThreadScope threads(thread_count() == 1 ? 3 : 1);
  EXPECT_EQ(made({64, 33, 3, 3}, he).to_vector(), first);
}

TEST(Init, Bf16IsTheRoundedF32) {
  const auto exact = made({32, 16}, Initializer::he_uniform()).to_vector();
  Tensor rounded({DType::bf16, {32, 16}});
  initialize(rounded, Initializer::he_uniform(), 1, "conv1.weight");
  for (int64_t i = 0; i < rounded.elements(); ++i) {
    EXPECT_EQ(rounded.get(i), static_cast<float>(BFloat16(exact[static_cast<size_t>(i)])));
  }
}

}  // namespace
}  // namespace syrtos::nn
