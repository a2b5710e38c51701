#include "syrtos/ops/native/amx/dense.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/amx/tiles.h"
#include "tests/ops_native/amx_tensors.h"

namespace syrtos::ops::native {
namespace {

struct Case {
  int batch, in, out;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.batch << "x" << c.in << " to " << c.out;
}

class AmxDenseLayers : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!amx_usable()) GTEST_SKIP() << "no AMX with bf16";
  }
};

TEST_P(AmxDenseLayers, GiveTheSumsOfTheReferenceInAllDirections) {
  const auto [batch, in, out] = GetParam();
  const AmxDense p{batch, in, out};
  ASSERT_TRUE(amx_dense_should_use(p));
  Tensor16 src = random_tensor(size_t(batch) * in, 1);
  Tensor16 weights = random_tensor(size_t(out) * in, 2);
  Tensor16 diff_dst = random_tensor(size_t(batch) * out, 3);
  std::vector<double> dst(size_t(batch) * out), diff_src(size_t(batch) * in);
  std::vector<double> diff_weights(size_t(out) * in);
  std::vector<float> bias(out);
  for (int o = 0; o < out; ++o) bias[o] = static_cast<float>(o % 5) - 2;
  for (int n = 0; n < batch; ++n) {
    for (int o = 0; o < out; ++o) {
      const float dy = diff_dst.values[size_t(n) * out + o];
      double sum = 0;
      for (int i = 0; i < in; ++i) {
        const float x = src.values[size_t(n) * in + i];
        const float w = weights.values[size_t(o) * in + i];
        sum += double{x} * w;
        diff_src[size_t(n) * in + i] += double{dy} * w;
        diff_weights[size_t(o) * in + i] += double{dy} * x;
      }
      dst[size_t(n) * out + o] = sum;
    }
  }
  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ThreadScope scope(threads);
    Bytes scratch = aligned_bytes(amx_dense_forward_scratch_bytes(p));
    Tensor16 result = random_tensor(dst.size(), 4);
    amx_dense_forward(p, src.data(), weights.data(), nullptr, false, result.data(), nullptr,
                      scratch.get());
    expect_close(
        "dst", dst, [&](size_t i) { return to_float(result.data()[i]); }, 1e-2);
    std::vector<float> logits(dst.size());
    amx_dense_forward(p, src.data(), weights.data(), bias.data(), true, nullptr, logits.data(),
                      scratch.get());
    std::vector<double> with_bias(dst.size());
    for (size_t i = 0; i < dst.size(); ++i) with_bias[i] = std::max(0.0, dst[i] + bias[i % out]);
    expect_close(
        "logits", with_bias, [&](size_t i) { return logits[i]; }, 1e-4);

    scratch = aligned_bytes(amx_dense_backward_data_scratch_bytes(p));
    Tensor16 gradient = random_tensor(diff_src.size(), 5);
    amx_dense_backward_data(p, diff_dst.data(), weights.data(), gradient.data(), scratch.get());
    expect_close(
        "diff_src", diff_src, [&](size_t i) { return to_float(gradient.data()[i]); }, 1e-2);

    scratch = aligned_bytes(amx_dense_backward_weights_scratch_bytes(p));
    Bytes found = aligned_bytes(diff_weights.size() * 4);
    const auto* values = reinterpret_cast<float*>(found.get());
    amx_dense_backward_weights(p, src.data(), diff_dst.data(),
                               reinterpret_cast<float*>(found.get()), scratch.get());
    expect_close(
        "diff_weights", diff_weights, [&](size_t i) { return values[i]; }, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AmxDenseLayers,
                         ::testing::Values(Case{42, 512, 1000}, Case{42, 2048, 10},
                                           Case{1, 512, 64}, Case{7, 1600, 33}, Case{100, 544, 84},
                                           Case{65, 96, 600}, Case{33, 1056, 272}));

}  // namespace
}  // namespace syrtos::ops::native
