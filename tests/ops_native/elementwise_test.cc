#include "syrtos/ops/native/elementwise.h"

#include <functional>
#include <limits>

#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

using Doubles = std::vector<double>;

class ElementwiseTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, ElementwiseTest, all_cases(), name_of);

const int64_t kSizes[] = {0, 1, 3, 6, 16, 17, 64, 100, 1031, 40001};
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

void check_unary(DType dtype, void (*function)(DType, int64_t, const void*, void*),
                 const std::function<double(double)>& want, double tolerance, double deviation) {
  for (const int64_t n : kSizes) {
    TestTensor x(dtype, n, 1, 0, deviation), y(dtype, n);
    if (n > 100) {
      x.set(5, kNaN);
      x.set(6, 0);
      x.set(7, -1e30);
      x.set(8, 1e30);
      x.set(9, kInf);
      x.set(10, -kInf);
    }
    function(dtype, n, x.data(), y.data());
    Doubles expected(n);
    for (int64_t i = 0; i < n; ++i) expected[i] = want(x[i]);
    for (int64_t i = 0; i < n; ++i) {
      if (std::isinf(expected[i])) {
        ASSERT_EQ(y[i], expected[i]);
        y.set(i, 0);
        expected[i] = 0;
      }
    }
    expect_near(y, expected, tolerance, 1e-37);
    function(dtype, n, x.data(), x.data());
    for (int64_t i = 0; i < n; ++i) {
      if (std::isinf(x[i])) x.set(i, 0);
    }
    expect_near(x, expected, tolerance, 1e-37);
  }
}

TEST_P(ElementwiseTest, UnaryFunctionsMatchTheStandardLibrary) {
  check_unary(
      dtype(), relu, [](double x) { return x < 0 ? 0 : x; }, 0, 3);
  for (const double deviation : {0.01, 1.0, 20.0}) {
    check_unary(
        dtype(), sigmoid, [](double x) { return x < -87 ? 0 : 1 / (1 + std::exp(-x)); },
        deviation < 5 ? 2e-7 : 3e-7, deviation);
    check_unary(
        dtype(), tanh, [](double x) { return std::tanh(x); }, 2e-7, deviation);
  }
}

void check_binary(DType dtype, void (*function)(DType, int64_t, const void*, const void*, void*),
                  double (*want)(double, double), double tolerance) {
  for (const int64_t n : kSizes) {
    TestTensor a(dtype, n, 1), b(dtype, n, 2), y(dtype, n);
    Doubles expected(n);
    for (int64_t i = 0; i < n; ++i) expected[i] = want(a[i], b[i]);
    function(dtype, n, a.data(), b.data(), y.data());
    expect_near(y, expected, tolerance);
    function(dtype, n, a.data(), b.data(), b.data());
    EXPECT_TRUE(b.same_bits(y)) << "in place differs";
  }
}

TEST_P(ElementwiseTest, BinaryFunctionsMatchTheirFormulas) {
  check_binary(
      dtype(), add, [](double a, double b) { return a + b; }, 1e-7);
  check_binary(
      dtype(), add_relu, [](double a, double b) { return std::max(a + b, 0.0); }, 1e-7);
  check_binary(
      dtype(), multiply, [](double a, double b) { return a * b; }, 1e-7);
  check_binary(
      dtype(), relu_backward, [](double y, double d) { return y > 0 ? d : 0; }, 0);
  check_binary(
      dtype(), sigmoid_backward, [](double y, double d) { return d * y * (1 - y); }, 1e-6);
  check_binary(
      dtype(), tanh_backward, [](double y, double d) { return d * (1 - y * y); }, 1e-6);
}

double gelu_gate(double x) {
  return 1 / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double gelu_slope(double x) {
  const double s = gelu_gate(x);
  return s + x * s * (1 - s) * 2 * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

TEST_P(ElementwiseTest, GeluAndItsSlopeMatchTheirFormulas) {
  for (const int64_t n : kSizes) {
    for (const double deviation : {0.01, 1.0, 6.0}) {
      TestTensor x(dtype(), n, 1, 0, deviation), diff(dtype(), n, 2), y(dtype(), n);
      Doubles value(n), slope(n);
      for (int64_t i = 0; i < n; ++i) {
        value[i] = x[i] * gelu_gate(x[i]);
        slope[i] = diff[i] * gelu_slope(x[i]);
      }
      gelu(dtype(), n, x.data(), y.data());
      expect_near(y, value, 4e-7, deviation);
      gelu_backward(dtype(), n, x.data(), diff.data(), y.data());
      expect_near(y, slope, 2e-6);
      gelu_backward(dtype(), n, x.data(), diff.data(), diff.data());
      EXPECT_TRUE(diff.same_bits(y)) << "in place differs";
      gelu(dtype(), n, x.data(), x.data());
      expect_near(x, value, 4e-7, deviation);
    }
  }
}

TEST_P(ElementwiseTest, GeluOfVeryLargeNumbersIsItsLimit) {
  const double sources[] = {-kInf, -1e30, -12, 12, 1e30, kInf, kNaN};
  const int64_t n = std::ssize(sources);
  TestTensor x(dtype(), n), ones(dtype(), n), y(dtype(), n);
  fill(dtype(), n, 1, ones.data());
  for (int64_t i = 0; i < n; ++i) x.set(i, sources[i]);
  gelu(dtype(), n, x.data(), y.data());
  for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], 0, 1e-20);
  for (int64_t i = 3; i < 6; ++i) EXPECT_EQ(y[i], x[i]);
  EXPECT_TRUE(std::isnan(y[6]));
  gelu_backward(dtype(), n, x.data(), ones.data(), y.data());
  for (int64_t i = 0; i < 3; ++i) EXPECT_NEAR(y[i], 0, 1e-20);
  for (int64_t i = 3; i < 6; ++i) EXPECT_EQ(y[i], 1);
  EXPECT_TRUE(std::isnan(y[6]));
}

TEST_P(ElementwiseTest, ScaleFillAndSumsOfManyMatchTheirFormulas) {
  for (const int64_t n : kSizes) {
    TestTensor a(dtype(), n, 1), b(dtype(), n, 2), c(dtype(), n, 3), y(dtype(), n);
    scale(dtype(), n, a.data(), -1.7f, y.data());
    Doubles want(n);
    for (int64_t i = 0; i < n; ++i) want[i] = -1.7f * a[i];
    expect_near(y, want, 1e-7);
    fill(dtype(), n, 0.25f, y.data());
    expect_near(y, Doubles(n, 0.25), 0);
    const void* inputs[] = {a.data(), b.data(), c.data()};
    for (int64_t i = 0; i < n; ++i) want[i] = a[i] + b[i] + c[i];
    add_n(dtype(), n, 3, inputs, y.data());
    expect_near(y, want, 2e-7, 4);
    add_n(dtype(), n, 3, inputs, b.data());
    EXPECT_TRUE(b.same_bits(y));
    add_n(dtype(), n, 1, inputs, y.data());
    EXPECT_TRUE(a.same_bits(y));
  }
}

TEST_P(ElementwiseTest, BiasIsAddedToEachRow) {
  for (const int64_t channels : {1, 3, 6, 16, 17, 64, 100, 1000}) {
    for (const bool relu : {false, true}) {
      const int64_t rows = 301, n = rows * channels;
      TestTensor x(dtype(), n, 1), bias(DType::f32, channels, 2), y(dtype(), n);
      bias_add(dtype(), rows, channels, x.data(), bias.f32(), relu, y.data());
      Doubles want(n);
      for (int64_t i = 0; i < n; ++i) {
        want[i] = x[i] + bias[i % channels];
        if (relu) want[i] = std::max(want[i], 0.0);
      }
      expect_near(y, want, 1e-7);
    }
  }
}

TEST_P(ElementwiseTest, ConversionRoundsToNearestEvenAndKeepsSpecialValues) {
  for (const int64_t n : kSizes) {
    TestTensor x(DType::f32, n, 1), half(DType::bf16, n), back(DType::f32, n);
    if (n >= 16) {
      const double special[] = {kNaN, kInf, -kInf, 0, -0.0, 3.4e38, 1.00390625, 1.01171875};
      for (int i = 0; i < 8; ++i) x.set(i, special[i]);
    }
    convert(DType::f32, DType::bf16, n, x.data(), half.data());
    convert(DType::bf16, DType::f32, n, half.data(), back.data());
    for (int64_t i = 0; i < n; ++i) {
      const auto expected = static_cast<float>(BFloat16(static_cast<float>(x[i])));
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(half[i]) && std::isnan(back[i]));
      } else {
        ASSERT_EQ(half[i], expected) << x[i];
        ASSERT_EQ(back[i], expected);
      }
    }
  }
}

}  // namespace
}  // namespace syrtos::ops::native
