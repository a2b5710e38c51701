#include "syrtos/ops/native/pooling.h"

#include <limits>

#include "tests/ops_native/reference.h"

namespace syrtos::ops::native {
namespace {

using Doubles = std::vector<double>;

class PoolingTest : public NativeTest {};
INSTANTIATE_TEST_SUITE_P(, PoolingTest, all_cases(), name_of);

PoolAxis axis(int64_t input, int64_t kernel, int64_t stride, int64_t padding) {
  PoolAxis a{input, (input + 2 * padding - kernel) / stride + 1, kernel, stride, padding, padding};
  return a;
}

// The window of output o, before it is cut to the input.
void window(const PoolAxis& a, int64_t o, int64_t& begin, int64_t& end) {
  if (a.adaptive) {
    begin = static_cast<int64_t>(std::floor(static_cast<double>(o * a.input) / a.output));
    end = static_cast<int64_t>(std::ceil(static_cast<double>((o + 1) * a.input) / a.output));
  } else {
    begin = o * a.stride - a.padding;
    end = std::min(begin + a.kernel, a.input + a.padding_end);
  }
}

struct Expected {
  Doubles average, max, average_gradient, max_gradient;
  std::vector<int32_t> position;
};

// Scatters where the kernels gather.
Expected naive(const PoolShape& s, const TestTensor& x, const TestTensor& dy) {
  const int64_t H = s.height.input, W = s.width.input, OH = s.height.output, OW = s.width.output;
  Expected e{Doubles(dy.size()), Doubles(dy.size()), Doubles(x.size()), Doubles(x.size()),
             std::vector<int32_t>(dy.size())};
  for (int64_t i = 0; i < dy.size(); ++i) {
    const int64_t c = i % s.channels, ow = i / s.channels % OW, oh = i / s.channels / OW % OH;
    const int64_t n = i / s.channels / OW / OH;
    int64_t h0, h1, w0, w1;
    window(s.height, oh, h0, h1);
    window(s.width, ow, w0, w1);
    double padded = static_cast<double>((h1 - h0) * (w1 - w0));
    h0 = std::max<int64_t>(h0, 0), w0 = std::max<int64_t>(w0, 0);
    h1 = std::min(h1, H), w1 = std::min(w1, W);
    if (!s.count_padding) padded = static_cast<double>((h1 - h0) * (w1 - w0));
    const auto at = [&](int64_t h, int64_t w) { return ((n * H + h) * W + w) * s.channels + c; };
    double top = -std::numeric_limits<double>::infinity();
    int64_t where = h0 * W + w0;
    for (int64_t h = h0; h < h1; ++h) {
      for (int64_t w = w0; w < w1; ++w) {
        const double v = x[at(h, w)];
        e.average[i] += v / padded;
        e.average_gradient[at(h, w)] += dy[i] / padded;
        if (v > top || std::isnan(v)) top = v, where = h * W + w;
      }
    }
    e.max[i] = top;
    e.position[i] = static_cast<int32_t>(where);
    e.max_gradient[at(where / W, where % W)] += dy[i];
  }
  return e;
}

void check_pooling(PoolShape shape, bool special) {
  const int64_t in = shape.batch * shape.height.input * shape.width.input * shape.channels;
  const int64_t out = shape.batch * shape.height.output * shape.width.output * shape.channels;
  TestTensor x(shape.dtype, in, 1), dy(shape.dtype, out, 2), y(shape.dtype, out);
  TestTensor dx(shape.dtype, in), position(DType::s32, out);
  // Few distinct values, so that maxima tie.
  for (int64_t i = 0; i < in; ++i) x.set(i, std::round(x[i]));
  if (special) {
    x.set(0, std::numeric_limits<double>::quiet_NaN());
    x.set(in - 1, -std::numeric_limits<double>::infinity());
  }
  for (const bool count_padding : {false, true}) {
    shape.count_padding = count_padding;
    const Expected want = naive(shape, x, dy);
    if (!special) {
      average_pool(shape, x.data(), y.data());
      expect_near(y, want.average, 1e-6);
      average_pool_backward(shape, dy.data(), dx.data());
      expect_near(dx, want.average_gradient, 1e-6);
    }
    max_pool(shape, x.data(), y.data(), position.s32());
    for (int64_t i = 0; i < out; ++i) ASSERT_EQ(position.s32()[i], want.position[i]);
    if (!special) expect_near(y, want.max, 0);
    max_pool_backward(shape, dy.data(), position.s32(), dx.data());
    expect_near(dx, want.max_gradient, 1e-6);
    TestTensor again(y);
    max_pool(shape, x.data(), y.data(), nullptr);
    EXPECT_TRUE(again.same_bits(y));
  }
}

TEST_P(PoolingTest, WindowsMatchTheNaiveLoops) {
  for (const int64_t channels : {1, 3, 6, 16, 17, 64, 100}) {
    SCOPED_TRACE(testing::Message() << channels << " channels");
    PoolShape shape{3, channels, axis(8, 2, 2, 0), axis(8, 2, 2, 0), dtype()};
    check_pooling(shape, false);
    shape.height = axis(9, 3, 2, 1);
    shape.width = axis(12, 3, 2, 1);
    check_pooling(shape, false);
    check_pooling(shape, true);
    shape.height = axis(7, 3, 1, 1);
    shape.width = axis(5, 4, 3, 2);
    check_pooling(shape, false);
  }
}

TEST_P(PoolingTest, WindowsMayBeginInsideAndEndBeyondTheInput) {
  // As with output sizes rounded up: the last window is cut.
  PoolAxis cut = axis(6, 3, 2, 0);
  cut.output = 3;
  check_pooling({2, 20, cut, cut, dtype()}, false);
}

TEST_P(PoolingTest, AdaptiveAndGlobalPoolingMatchTheNaiveLoops) {
  for (const int64_t channels : {1, 3, 17, 64, 100}) {
    check_pooling(adaptive_pool_shape(dtype(), 5, 4, 4, channels, 1, 1), false);
    check_pooling(adaptive_pool_shape(dtype(), 2, 7, 10, channels, 3, 4), false);
    check_pooling(adaptive_pool_shape(dtype(), 2, 3, 4, channels, 5, 7), false);
    check_pooling(adaptive_pool_shape(dtype(), 2, 6, 6, channels, 6, 6), false);
  }
}

}  // namespace
}  // namespace syrtos::ops::native
