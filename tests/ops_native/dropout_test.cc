#include "syrtos/ops/native/dropout.h"

#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

class DropoutTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, DropoutTest, all_cases(), name_of);

const DropoutStream kStream{.seed = 0x123456789abcdefULL, .layer = 4, .step = 77};

TEST_P(DropoutTest, AppliesTheMaskOfEachSampleAndElement) {
  for (const int64_t inner : {1, 3, 6, 16, 17, 64, 100, 500, 4099}) {
    const int64_t samples = 9, n = samples * inner;
    TestTensor x(dtype(), n, 1, 2), y(dtype(), n);
    dropout(kStream, 0.3f, dtype(), samples, inner, 1000, x.data(), y.data());
    std::vector<double> want(n);
    for (int64_t i = 0; i < n; ++i) {
      want[i] = x[i] * dropout_factor(kStream, 0.3f, 1000 + i / inner, i % inner);
    }
    expect_near(y, want, 1e-7);
    dropout(kStream, 0.3f, dtype(), samples, inner, 1000, x.data(), x.data());
    EXPECT_TRUE(x.same_bits(y)) << "in place differs";
  }
}

TEST_P(DropoutTest, DoesNotDependOnHowSamplesAreSplitOverWorkers) {
  const int64_t samples = 12, inner = 333;
  TestTensor x(dtype(), samples * inner, 1), whole(dtype(), samples * inner);
  TestTensor split(dtype(), samples * inner);
  dropout(kStream, 0.5f, dtype(), samples, inner, 0, x.data(), whole.data());
  for (int64_t first = 0; first < samples; first += 4) {
    const auto offset = static_cast<size_t>(first * inner) * size_of(dtype());
    dropout(kStream, 0.5f, dtype(), 4, inner, first, static_cast<char*>(x.data()) + offset,
            static_cast<char*>(split.data()) + offset);
  }
  EXPECT_TRUE(whole.same_bits(split));
}

TEST_P(DropoutTest, RateZeroIsTheIdentity) {
  TestTensor x(dtype(), 1000, 1), y(dtype(), 1000);
  dropout(kStream, 0, dtype(), 10, 100, 0, x.data(), y.data());
  EXPECT_TRUE(x.same_bits(y));
}

}  // namespace
}  // namespace syrtos::ops::native
