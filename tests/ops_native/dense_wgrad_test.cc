#include "syrtos/ops/native/dense_wgrad.h"

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

class DenseWeightGradients : public ::testing::TestWithParam<Case> {};

TEST_P(DenseWeightGradients, AreTheSumsOfTheReference) {
  const auto [batch, in, out] = GetParam();
  const DenseWgrad p{batch, in, out};
  ASSERT_TRUE(dense_wgrad_supported(p));
  const std::vector<float> src = random_tensor(static_cast<size_t>(batch * in), 1).values;
  const std::vector<float> diff_dst = random_tensor(static_cast<size_t>(batch * out), 2).values;
  std::vector<double> expected(static_cast<size_t>(out * in));
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        expected[o * in + i] += double{diff_dst[n * out + o]} * src[n * in + i];
      }
    }
  }
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ThreadScope scope(threads);
    const Bytes scratch = aligned_bytes(dense_wgrad_scratch_bytes(p));
    const Bytes result = aligned_bytes(expected.size() * 4);
    auto* found = reinterpret_cast<float*>(result.get());
    dense_wgrad(p, src.data(), diff_dst.data(), found, scratch.get());
    expect_close(
        "diff_weights", expected, [&](size_t i) { return found[i]; }, 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DenseWeightGradients,
                         ::testing::Values(Case{42, 512, 1000}, Case{42, 2048, 10}, Case{1, 64, 7},
                                           Case{7, 1600, 33}, Case{100, 16, 84},
                                           Case{33, 1616, 272}));

}  // namespace
}  // namespace syrtos::ops::native
