// Batch norm in two halves by several workers gives what one gives with all their rows.

#include <numeric>

#include "syrtos/ops/native/batch_norm.h"
#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

class BatchNormHalvesTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, BatchNormHalvesTest, all_cases(), name_of);

constexpr float kEpsilon = 1e-5F;
constexpr float kMomentum = 0.1F;

/// One worker's rows, or all rows, and everything batch norm makes of them.
struct Part {
  int64_t rows, channels;
  TestTensor x, residual, dy, y, dx, dresidual;
  TestTensor gamma, beta, mean, inv_std, running_mean, running_var, dgamma, dbeta;
  TestTensor scratch;

  Part(DType dtype, int64_t r, int64_t c)
      : rows(r),
        channels(c),
        x(dtype, r * c),
        residual(dtype, r * c),
        dy(dtype, r * c),
        y(dtype, r * c),
        dx(dtype, r * c),
        dresidual(dtype, r * c),
        gamma(DType::f32, c, 3, 1, 0.2),
        beta(DType::f32, c, 4),
        mean(DType::f32, c),
        inv_std(DType::f32, c),
        running_mean(DType::f32, c, 5),
        running_var(DType::f32, c, 6, 3, 0.1),
        dgamma(DType::f32, c),
        dbeta(DType::f32, c),
        scratch(scratch_of(batch_norm_scratch_bytes(c))) {}

  BatchNormShape shape() const { return {rows, channels, x.dtype()}; }
  BatchNormForwardTraining forward(bool relu, bool add) {
    return {x.data(),
            add ? residual.data() : nullptr,
            gamma.f32(),
            beta.f32(),
            kEpsilon,
            kMomentum,
            relu,
            y.data(),
            mean.f32(),
            inv_std.f32(),
            running_mean.f32(),
            running_var.f32()};
  }
  BatchNormBackward backward(bool relu, bool add) {
    return {x.data(),
            y.data(),
            dy.data(),
            gamma.f32(),
            mean.f32(),
            inv_std.f32(),
            relu,
            dx.data(),
            dgamma.f32(),
            dbeta.f32(),
            add ? dresidual.data() : nullptr};
  }
};

/// Adds the sums up over workers as a network would: floats, one worker after the other.
void add_up(std::vector<std::vector<float>>& sums) {
  std::vector<float> total = sums[0];
  for (size_t w = 1; w < sums.size(); ++w) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += sums[w][i];
  }
  for (auto& each : sums) each = total;
}

std::vector<double> doubles(const TestTensor& tensor) {
  std::vector<double> result(static_cast<size_t>(tensor.size()));
  for (int64_t i = 0; i < tensor.size(); ++i) result[static_cast<size_t>(i)] = tensor[i];
  return result;
}

void run(std::vector<Part>& parts, bool relu, bool add) {
  std::vector<std::vector<float>> sums;
  for (Part& part : parts) {
    sums.emplace_back(batch_norm_forward_sums(part.channels));
    batch_norm_forward_first(part.shape(), part.x.data(), sums.back(), part.scratch.data());
  }
  add_up(sums);
  for (size_t w = 0; w < parts.size(); ++w) {
    Part& part = parts[w];
    batch_norm_forward_second(part.shape(), part.forward(relu, add), sums[w], part.scratch.data());
    sums[w].assign(static_cast<size_t>(batch_norm_backward_sums(part.channels)), 0);
    batch_norm_backward_first(part.shape(), part.backward(relu, add), sums[w], part.scratch.data());
  }
  add_up(sums);
  for (size_t w = 0; w < parts.size(); ++w) {
    Part& part = parts[w];
    batch_norm_backward_second(part.shape(), part.backward(relu, add), sums[w],
                               part.scratch.data());
  }
}

struct Data {
  double mean = 0.5;
  double deviation = 2;
};

/// Rows of `shares` workers against the ordinary kernel on all of them.
void check(DType dtype, const std::vector<int64_t>& shares, int64_t channels, bool relu, bool add,
           const Data& data, double tolerance) {
  const int64_t rows = std::accumulate(shares.begin(), shares.end(), int64_t{0});
  Part whole(DType::f32, rows, channels);  // holds what parts in bf16 hold, and rounds nothing
  const TestTensor x(dtype, rows * channels, 1, data.mean, data.deviation);
  const TestTensor residual(dtype, rows * channels, 2), dy(dtype, rows * channels, 7);
  std::vector<Part> parts;
  int64_t at = 0;
  for (const int64_t share : shares) {
    Part& part = parts.emplace_back(dtype, share, channels);
    // The loss of a worker is the mean over its own rows.
    for (int64_t i = 0; i < share * channels; ++i, ++at) {
      part.x.set(i, x[at]);
      part.residual.set(i, residual[at]);
      part.dy.set(i, dy[at] * static_cast<double>(rows) / static_cast<double>(share));
      whole.x.set(at, x[at]);
      whole.residual.set(at, residual[at]);
      whole.dy.set(at, part.dy[i] * static_cast<double>(share) / static_cast<double>(rows));
    }
  }
  batch_norm_forward_training(whole.shape(), whole.forward(relu, add), whole.scratch.data());
  batch_norm_backward(whole.shape(), whole.backward(relu, add), whole.scratch.data());
  run(parts, relu, add);

  std::vector<double> y, dx, dgamma(static_cast<size_t>(channels)), dbeta(dgamma);
  const double scale = std::sqrt(static_cast<double>(rows));
  const double largest = *std::max_element(whole.inv_std.f32(), whole.inv_std.f32() + channels);
  at = 0;
  for (Part& part : parts) {
    expect_near(part.mean, doubles(whole.mean), 1e-6, data.deviation);
    expect_near(part.inv_std, doubles(whole.inv_std), tolerance, 0);
    expect_near(part.running_mean, doubles(whole.running_mean), 1e-6);
    expect_near(part.running_var, doubles(whole.running_var), tolerance);
    EXPECT_TRUE(part.running_mean.same_bits(parts[0].running_mean));
    EXPECT_TRUE(part.running_var.same_bits(parts[0].running_var));
    const double share = static_cast<double>(part.rows) / static_cast<double>(rows);
    std::vector<double> want_y, want_dx;
    for (int64_t i = 0; i < part.rows * channels; ++i, ++at) {
      want_y.push_back(whole.y[at]);
      want_dx.push_back(whole.dx[at] / share);
    }
    expect_near(part.y, want_y, 4 * tolerance);
    expect_near(part.dx, want_dx, 4 * tolerance, largest / share);
    for (int64_t c = 0; c < channels; ++c) {
      dgamma[static_cast<size_t>(c)] += share * part.dgamma[c];
      dbeta[static_cast<size_t>(c)] += share * part.dbeta[c];
    }
  }
  expect_near(whole.dgamma, dgamma, 4 * tolerance, scale);
  expect_near(whole.dbeta, dbeta, 1e-6, scale);
}

const std::vector<int64_t> kShares[] = {{12},         {5, 3, 4}, {1, 1}, {1, 30}, {500, 300, 400},
                                        {1024, 1024}, {777}};

TEST_P(BatchNormHalvesTest, PartsOfABatchGiveWhatTheWholeGives) {
  for (const auto& shares : kShares) {
    for (const int64_t channels : {1, 17, 64, 300}) {
      SCOPED_TRACE(testing::Message() << shares.size() << " workers, the first with " << shares[0]
                                      << " rows of " << channels);
      for (int flags = 0; flags < 4; ++flags) {
        check(dtype(), shares, channels, (flags & 1) != 0, (flags & 2) != 0, {}, 3e-6);
      }
    }
  }
}

TEST_P(BatchNormHalvesTest, VarianceSurvivesAMeanManyDeviationsAway) {
  const double far = dtype() == DType::bf16 ? 1 : 100;  // bf16 cannot hold 100 +- 0.1
  const std::vector<int64_t> shares = {5000, 3000, 4000};
  check(dtype(), shares, 17, false, false, {far, 0.1}, 3e-5);
  check(dtype(), shares, 17, true, true, {-far, 1}, 3e-6);
  check(dtype(), std::vector<int64_t>(64, 100), 5, false, false, {far, 1}, 3e-6);
}

// One row too few or too many would show a million times as large in this variance.
TEST(BatchNormHalves, MoreRowsThanAFloatCanCountAreCountedExactly) {
  const std::vector<int64_t> shares = {(int64_t{1} << 24) + 1, (int64_t{1} << 23) + 2};
  std::vector<std::vector<float>> sums;
  TestTensor scratch = scratch_of(batch_norm_scratch_bytes(1));
  std::vector<float> x;
  for (const int64_t rows : shares) {
    x.assign(static_cast<size_t>(rows), 999);
    for (size_t i = 0; i < x.size(); i += 2) x[i] = 1001;
    sums.emplace_back(batch_norm_forward_sums(1));
    batch_norm_forward_first({rows, 1, DType::f32}, x.data(), sums.back(), scratch.data());
  }
  add_up(sums);
  std::vector<float> y(x.size());
  float gamma = 1, beta = 0, mean = 0, inv_std = 0;
  batch_norm_forward_second({shares[1], 1, DType::f32},
                            {x.data(), nullptr, &gamma, &beta, 0, kMomentum, false, y.data(), &mean,
                             &inv_std, nullptr, nullptr},
                            sums[1], scratch.data());
  EXPECT_NEAR(mean, 1000, 1e-4);
  EXPECT_NEAR(inv_std, 1, 1e-4);
}

}  // namespace
}  // namespace syrtos::ops::native
