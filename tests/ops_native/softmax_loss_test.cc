#include "syrtos/ops/native/softmax_loss.h"

#include <limits>

#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

using Doubles = std::vector<double>;

class SoftmaxLossTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, SoftmaxLossTest, all_cases(), name_of);

const int64_t kClasses[] = {1, 3, 6, 10, 16, 17, 64, 100, 1000};
constexpr int64_t kRows = 43;

Doubles naive_log_softmax(const TestTensor& x, int64_t rows, int64_t classes) {
  Doubles result(rows * classes);
  for (int64_t r = 0; r < rows; ++r) {
    double top = -std::numeric_limits<double>::infinity();
    for (int64_t c = 0; c < classes; ++c) top = std::max(top, x[r * classes + c]);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(x[r * classes + c] - top);
    for (int64_t c = 0; c < classes; ++c) {
      result[r * classes + c] = x[r * classes + c] - top - std::log(sum);
    }
  }
  return result;
}

Doubles exponentials(Doubles values) {
  for (double& v : values) v = std::exp(v);
  return values;
}

TEST_P(SoftmaxLossTest, SoftmaxAndItsLogarithmMatchTheFormulas) {
  for (const int64_t classes : kClasses) {
    const int64_t n = kRows * classes;
    TestTensor x(dtype(), n, 1, 30, 5), y(dtype(), n);
    const Doubles want = naive_log_softmax(x, kRows, classes);
    log_softmax(dtype(), kRows, classes, x.data(), y.data());
    expect_near(y, want, 3e-6);
    softmax(dtype(), kRows, classes, x.data(), x.data());
    expect_near(x, exponentials(want), 3e-6, 1e-5);
  }
}

TEST_P(SoftmaxLossTest, MaskedLogitsGetProbabilityZeroAndNaNSpreadsOverItsRow) {
  TestTensor x(dtype(), 40, 1), y(dtype(), 40);
  x.set(3, -std::numeric_limits<double>::infinity());
  x.set(25, std::numeric_limits<double>::quiet_NaN());
  softmax(dtype(), 2, 20, x.data(), y.data());
  EXPECT_EQ(y[3], 0);
  for (int64_t i = 0; i < 20; ++i) EXPECT_TRUE(std::isfinite(y[i]));
  for (int64_t i = 20; i < 40; ++i) EXPECT_TRUE(std::isnan(y[i]));
}

TEST_P(SoftmaxLossTest, GradientsMatchTheFormulas) {
  for (const int64_t classes : kClasses) {
    const int64_t n = kRows * classes;
    TestTensor x(dtype(), n, 1, 0, 2), dy(dtype(), n, 2), dx(dtype(), n);
    TestTensor probability(dtype(), n), logarithm(dtype(), n);
    softmax(dtype(), kRows, classes, x.data(), probability.data());
    log_softmax(dtype(), kRows, classes, x.data(), logarithm.data());
    Doubles want(n), want_log(n);
    for (int64_t r = 0; r < kRows; ++r) {
      double dot = 0, sum = 0;
      for (int64_t i = r * classes; i < (r + 1) * classes; ++i) {
        dot += probability[i] * dy[i];
        sum += dy[i];
      }
      for (int64_t i = r * classes; i < (r + 1) * classes; ++i) {
        want[i] = probability[i] * (dy[i] - dot);
        want_log[i] = dy[i] - std::exp(logarithm[i]) * sum;
      }
    }
    softmax_backward(dtype(), kRows, classes, probability.data(), dy.data(), dx.data());
    expect_near(dx, want, 1e-6);
    log_softmax_backward(dtype(), kRows, classes, logarithm.data(), dy.data(), dy.data());
    expect_near(dy, want_log, 3e-6);
  }
}

TEST_P(SoftmaxLossTest, CrossEntropyAndItsGradientMatchTheFormulas) {
  for (const DType other : {DType::f32, DType::bf16}) {
    for (const float smoothing : {0.0f, 0.1f}) {
      for (const int64_t classes : kClasses) {
        const int64_t n = kRows * classes;
        TestTensor x(dtype(), n, 1, 0, 3), labels(DType::s32, kRows);
        TestTensor p(other, n), loss(DType::f32, kRows), mean(DType::f32, 1), dx(dtype(), n);
        for (int64_t r = 0; r < kRows; ++r) {
          labels.s32()[r] = static_cast<int32_t>(r * 7919 % classes);
        }
        const CrossEntropyShape shape{kRows, classes, smoothing};
        ASSERT_EQ(softmax_cross_entropy(shape, {dtype(), x.data(), labels.s32(), other, p.data(),
                                                loss.f32(), mean.f32()}),
                  -1);
        const Doubles log_p = naive_log_softmax(x, kRows, classes);
        Doubles want(kRows), want_mean(1), want_dx(n);
        for (int64_t r = 0; r < kRows; ++r) {
          for (int64_t c = 0; c < classes; ++c) {
            const double target = (c == labels.s32()[r] ? 1 - smoothing : 0) + smoothing / classes;
            want[r] -= target * log_p[r * classes + c];
            want_dx[r * classes + c] = (p[r * classes + c] - target) * 0.5;
          }
          want_mean[0] += want[r] / kRows;
        }
        expect_near(loss, want, 3e-6);
        expect_near(mean, want_mean, 3e-6);
        expect_near(p, exponentials(log_p), 3e-6, 1e-5);
        ASSERT_EQ(softmax_cross_entropy_backward(shape, other, p.data(), labels.s32(), 0.5f,
                                                 dtype(), dx.data()),
                  -1);
        expect_near(dx, want_dx, 1e-7);
      }
    }
  }
}

TEST_P(SoftmaxLossTest, LabelsOutOfRangeAreReportedAndNothingIsWritten) {
  const int64_t rows = 5, classes = 10;
  TestTensor x(dtype(), rows * classes, 1), p(dtype(), rows * classes), labels(DType::s32, rows);
  TestTensor untouched(p), loss(DType::f32, rows);
  for (const int32_t bad : {-1, 10, 1000000}) {
    for (int64_t r = 0; r < rows; ++r) labels.s32()[r] = 9;
    labels.s32()[3] = bad;
    labels.s32()[4] = bad;
    const CrossEntropyShape shape{rows, classes, 0};
    EXPECT_EQ(softmax_cross_entropy(
                  shape, {dtype(), x.data(), labels.s32(), dtype(), p.data(), loss.f32(), nullptr}),
              3);
    EXPECT_EQ(softmax_cross_entropy_backward(shape, dtype(), x.data(), labels.s32(), 1, dtype(),
                                             p.data()),
              3);
    EXPECT_TRUE(p.same_bits(untouched));
  }
}

}  // namespace
}  // namespace syrtos::ops::native
