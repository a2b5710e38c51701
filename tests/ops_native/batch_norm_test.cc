#include "syrtos/ops/native/batch_norm.h"

#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

using Doubles = std::vector<double>;

class BatchNormTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, BatchNormTest, all_cases(), name_of);

struct Statistics {
  Doubles mean, variance;
};

Statistics statistics(const TestTensor& x, int64_t rows, int64_t channels) {
  Statistics s{Doubles(channels), Doubles(channels)};
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t r = 0; r < rows; ++r) s.mean[c] += x[r * channels + c] / rows;
    for (int64_t r = 0; r < rows; ++r) {
      const double d = x[r * channels + c] - s.mean[c];
      s.variance[c] += d * d / rows;
    }
  }
  return s;
}

Doubles to_doubles(const TestTensor& t) {
  Doubles result(t.size());
  for (int64_t i = 0; i < t.size(); ++i) result[i] = t[i];
  return result;
}

struct Size {
  int64_t rows, channels;
};
const Size kSizes[] = {{1, 5},     {2, 1},     {1000, 1},  {777, 3},   {300, 6}, {513, 16},
                       {259, 17},  {1001, 64}, {210, 100}, {42, 2048}, {7, 300}, {272, 512},
                       {900, 130}, {2001, 33}, {40, 1000}, {1700, 256}};

// Runs one training step of one size and compares everything with the formulas in doubles.
void check_training(DType dtype, Size size, bool relu, bool add, double mean, double deviation) {
  const auto [rows, channels] = size;
  const int64_t n = rows * channels;
  const float epsilon = 1e-5f;
  const float momentum = 0.1f;
  TestTensor x(dtype, n, 1, mean, deviation), residual(dtype, n, 2);
  TestTensor gamma(DType::f32, channels, 3, 1, 0.2), beta(DType::f32, channels, 4);
  TestTensor running_mean(DType::f32, channels, 5), running_var(DType::f32, channels, 6, 3, 0.1);
  const Doubles old_mean = to_doubles(running_mean), old_var = to_doubles(running_var);
  TestTensor y(dtype, n), batch_mean(DType::f32, channels), inv_std(DType::f32, channels);
  TestTensor scratch = scratch_of(batch_norm_scratch_bytes(channels));
  const BatchNormShape shape{rows, channels, dtype};
  batch_norm_forward_training(
      shape,
      {x.data(), add ? residual.data() : nullptr, gamma.f32(), beta.f32(), epsilon, momentum, relu,
       y.data(), batch_mean.f32(), inv_std.f32(), running_mean.f32(), running_var.f32()},
      scratch.data());

  const Statistics s = statistics(x, rows, channels);
  Doubles is(channels), want_rm(channels), want_rv(channels), want_y(n);
  for (int64_t c = 0; c < channels; ++c) {
    is[c] = 1 / std::sqrt(s.variance[c] + epsilon);
    const double unbiased = rows > 1 ? s.variance[c] * rows / (rows - 1) : s.variance[c];
    want_rm[c] = (1 - momentum) * old_mean[c] + momentum * s.mean[c];
    want_rv[c] = (1 - momentum) * old_var[c] + momentum * unbiased;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = i % channels;
    const double v = gamma[c] * (x[i] - s.mean[c]) * is[c] + beta[c] + (add ? residual[i] : 0);
    want_y[i] = relu && v < 0 ? 0 : v;
  }
  // The mean is stored as a float: half a unit in its last place matters beside the deviation.
  const double loss = std::abs(mean) / deviation * 6e-8;
  expect_near(batch_mean, s.mean, 1e-6, deviation);
  expect_near(inv_std, is, 3e-6, 0);
  expect_near(running_mean, want_rm, 1e-6);
  expect_near(running_var, want_rv, 1e-6);
  expect_near(y, want_y, 1e-5 + 2 * loss);

  // Backward, given what forward left, with each way of aliasing.
  TestTensor dy(dtype, n, 7);
  Doubles g(n), want_dgamma(channels), want_dbeta(channels), magnitude(channels), want_dx(n);
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = i % channels;
    g[i] = relu && y[i] <= 0 ? 0 : dy[i];
    want_dbeta[c] += g[i];
    want_dgamma[c] += g[i] * (x[i] - batch_mean[c]) * inv_std[c];
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = i % channels;
    const double xhat = (x[i] - batch_mean[c]) * inv_std[c];
    want_dx[i] =
        gamma[c] * inv_std[c] * (g[i] - want_dbeta[c] / rows - xhat * want_dgamma[c] / rows);
  }
  const double scale = std::sqrt(static_cast<double>(rows));
  for (int alias = 0; alias < 3; ++alias) {
    TestTensor gradient(dy), dx(dtype, n), dresidual(dtype, n);
    TestTensor dgamma(DType::f32, channels), dbeta(DType::f32, channels);
    void* dres_out = alias == 1 || !add ? nullptr : alias == 2 ? gradient.data() : dresidual.data();
    const bool dx_in_place = alias == 1;
    batch_norm_backward(
        shape,
        {x.data(), y.data(), gradient.data(), gamma.f32(), batch_mean.f32(), inv_std.f32(), relu,
         dx_in_place ? gradient.data() : dx.data(), dgamma.f32(), dbeta.f32(), dres_out},
        scratch.data());
    expect_near(dbeta, want_dbeta, 1e-6, scale);
    expect_near(dgamma, want_dgamma, 1e-6, scale * 3);
    expect_near(dx_in_place ? gradient : dx, want_dx, 2e-6,
                *std::max_element(is.begin(), is.end()));
    if (dres_out != nullptr) expect_near(alias == 2 ? gradient : dresidual, g, 0);
  }
}

TEST_P(BatchNormTest, TrainingMatchesTheFormulas) {
  for (const Size size : kSizes) {
    SCOPED_TRACE(testing::Message() << size.rows << " x " << size.channels);
    for (int flags = 0; flags < 4; ++flags) {
      check_training(dtype(), size, (flags & 1) != 0, (flags & 2) != 0, 0.5, 2);
    }
  }
}

TEST_P(BatchNormTest, VarianceSurvivesAMeanManyDeviationsAway) {
  const double mean = dtype() == DType::bf16 ? 1 : 100;  // bf16 cannot hold 100 +- 0.1
  check_training(dtype(), {43008, 3}, false, false, mean, 0.1);
  check_training(dtype(), {1300, 64}, true, true, mean, 0.1);
  check_training(dtype(), {42, 512}, true, false, -mean, 0.1);
}

TEST_P(BatchNormTest, VarianceSurvivesAnOutlierInTheFirstRows) {
  const int64_t rows = 5000, channels = 17;
  TestTensor x(DType::f32, rows * channels, 1, 10, 0.5);
  for (int64_t c = 0; c < channels; ++c) x.set(c, 0);
  TestTensor one(DType::f32, channels, 3, 1, 0), y(DType::f32, rows * channels);
  TestTensor mean(DType::f32, channels), inv_std(DType::f32, channels);
  TestTensor scratch = scratch_of(batch_norm_scratch_bytes(channels));
  batch_norm_forward_training({rows, channels, DType::f32},
                              {x.data(), nullptr, one.f32(), one.f32(), 0, 0.1f, false, y.data(),
                               mean.f32(), inv_std.f32(), nullptr, nullptr},
                              scratch.data());
  const Statistics s = statistics(x, rows, channels);
  Doubles want(channels);
  for (int64_t c = 0; c < channels; ++c) want[c] = 1 / std::sqrt(s.variance[c]);
  expect_near(mean, s.mean, 2e-7);
  expect_near(inv_std, want, 1e-5);
}

TEST_P(BatchNormTest, InferenceUsesTheRunningStatistics) {
  for (const auto [rows, channels] : kSizes) {
    const int64_t n = rows * channels;
    TestTensor x(dtype(), n, 1), residual(dtype(), n, 2);
    TestTensor gamma(DType::f32, channels, 4), beta(DType::f32, channels, 5);
    TestTensor mean(DType::f32, channels, 6), var(DType::f32, channels, 7, 2, 0.1), y(dtype(), n);
    TestTensor scratch = scratch_of(batch_norm_scratch_bytes(channels));
    const BatchNormShape shape{rows, channels, dtype()};
    batch_norm_forward_inference(shape,
                                 {x.data(), residual.data(), gamma.f32(), beta.f32(), mean.f32(),
                                  var.f32(), 1e-3f, true, y.data()},
                                 scratch.data());
    Doubles want(n);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t c = i % channels;
      const double inv_std = 1 / std::sqrt(var[c] + 1e-3);
      want[i] = std::max(0.0, gamma[c] * (x[i] - mean[c]) * inv_std + beta[c] + residual[i]);
    }
    expect_near(y, want, 2e-6);
  }
}

TEST_P(BatchNormTest, RepeatsBitForBit) {
  const int64_t rows = 3001, channels = 70, n = rows * channels;
  TestTensor x(dtype(), n, 1), gamma(DType::f32, channels, 2), beta(DType::f32, channels, 3);
  TestTensor scratch = scratch_of(batch_norm_scratch_bytes(channels));
  TestTensor y1(dtype(), n), y2(dtype(), n), mean(DType::f32, channels), is(DType::f32, channels);
  for (TestTensor* y : {&y1, &y2}) {
    batch_norm_forward_training({rows, channels, dtype()},
                                {x.data(), nullptr, gamma.f32(), beta.f32(), 1e-5f, 0.1f, true,
                                 y->data(), mean.f32(), is.f32(), nullptr, nullptr},
                                scratch.data());
  }
  EXPECT_TRUE(y1.same_bits(y2));
}

}  // namespace
}  // namespace syrtos::ops::native
