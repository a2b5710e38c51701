#include "syrtos/ops/native/dense.h"

#include <gtest/gtest.h>

#include <cmath>

#include "syrtos/base/parallel.h"
#include "tests/ops_native/amx_tensors.h"

namespace syrtos::ops::native {
namespace {

struct Case {
  int64_t batch, in, out;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.batch << "x" << c.in << " to " << c.out;
}

class DenseLayers : public ::testing::TestWithParam<Case> {};

TEST_P(DenseLayers, GiveTheSumsOfTheReferenceInAllDirections) {
  const auto [batch, in, out] = GetParam();
  const Dense p{batch, in, out};
  ASSERT_TRUE(dense_supported(p));
  const std::vector<float> src = random_tensor(static_cast<size_t>(batch * in), 1).values;
  const std::vector<float> diff_dst = random_tensor(static_cast<size_t>(batch * out), 2).values;
  const std::vector<float> weights = random_tensor(static_cast<size_t>(out * in), 3).values;
  std::vector<double> expected(static_cast<size_t>(out * in));
  std::vector<double> dst(static_cast<size_t>(batch * out));
  std::vector<double> diff_src(static_cast<size_t>(batch * in));
  std::vector<float> bias(static_cast<size_t>(out));
  for (int64_t o = 0; o < out; ++o) bias[o] = static_cast<float>(o % 5) - 2;
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        expected[o * in + i] += double{diff_dst[n * out + o]} * src[n * in + i];
        diff_src[n * in + i] += double{diff_dst[n * out + o]} * weights[o * in + i];
        dst[n * out + o] += double{src[n * in + i]} * weights[o * in + i];
      }
      dst[n * out + o] = std::max(0.0, dst[n * out + o] + bias[o]);
    }
  }
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ThreadScope scope(threads);
    Bytes scratch = aligned_bytes(dense_forward_scratch_bytes(p));
    std::vector<float> y(dst.size(), NAN);
    dense_forward(p, src.data(), weights.data(), bias.data(), true, y.data(), scratch.get());
    expect_close(
        "dst", dst, [&](size_t i) { return y[i]; }, 1e-4);
    scratch = aligned_bytes(dense_backward_data_scratch_bytes(p));
    std::vector<float> dx(diff_src.size(), NAN);
    dense_backward_data(p, diff_dst.data(), weights.data(), dx.data(), scratch.get());
    expect_close(
        "diff_src", diff_src, [&](size_t i) { return dx[i]; }, 1e-4);
    scratch = aligned_bytes(dense_backward_weights_scratch_bytes(p));
    const Bytes result = aligned_bytes(expected.size() * 4);
    auto* found = reinterpret_cast<float*>(result.get());
    dense_backward_weights(p, src.data(), diff_dst.data(), found, scratch.get());
    expect_close(
        "diff_weights", expected, [&](size_t i) { return found[i]; }, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DenseLayers,
                         ::testing::Values(Case{42, 512, 1000}, Case{42, 2048, 10}, Case{1, 64, 7},
                                           Case{7, 1600, 33}, Case{100, 16, 84},
                                           Case{33, 1616, 272}));

}  // namespace
}  // namespace syrtos::ops::native
