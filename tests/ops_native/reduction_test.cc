#include "syrtos/ops/native/reduction.h"

#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

using Doubles = std::vector<double>;

class ReductionTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, ReductionTest, all_cases(), name_of);

TEST_P(ReductionTest, BiasGradientIsTheSumOfEachColumn) {
  for (const int64_t rows : {1, 42, 700, 5001}) {
    for (const int64_t channels : {1, 3, 6, 16, 17, 64, 100, 500}) {
      if (rows * channels > 600000) continue;
      TestTensor x(dtype(), rows * channels, 1, 1), sums(DType::f32, channels);
      TestTensor scratch = scratch_of(bias_gradient_scratch_bytes(channels));
      bias_gradient(dtype(), rows, channels, x.data(), sums.f32(), scratch.data());
      Doubles want(channels);
      for (int64_t i = 0; i < x.size(); ++i) want[i % channels] += x[i];
      expect_near(sums, want, 1e-6);
    }
  }
}

TEST_P(ReductionTest, SumOfSquaresIsADouble) {
  for (const int64_t n : {0, 1, 17, 100, 50001}) {
    TestTensor x(dtype(), n, 1, 0.5);
    double want = 0;
    for (int64_t i = 0; i < n; ++i) want += x[i] * x[i];
    EXPECT_NEAR(sum_of_squares(dtype(), n, x.data()), want, 1e-12 * want);
  }
  TestTensor large(dtype(), 3, 1, 1e30, 0);
  EXPECT_NEAR(sum_of_squares(dtype(), 3, large.data()), 3e60, 1e58);
}

}  // namespace
}  // namespace syrtos::ops::native
