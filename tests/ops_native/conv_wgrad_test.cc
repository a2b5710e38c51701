#include "syrtos/ops/native/conv_wgrad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "syrtos/base/parallel.h"

namespace syrtos::ops::native {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Buffer = std::unique_ptr<char, Free>;

Buffer aligned_buffer(size_t bytes) {
  const size_t rounded = (bytes + 64) / 64 * 64;
  Buffer buffer(static_cast<char*>(std::aligned_alloc(64, rounded)));
  std::memset(buffer.get(), 0xFF, rounded);  // NaN: whatever is read before it is written shows
  return buffer;
}

uint16_t to_bf16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// Values that bf16 holds exactly, so that both types are compared with the same reference.
std::vector<float> random_values(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(static_cast<int>(random() % 255) - 127) / 64.0F;
  return values;
}

std::vector<uint16_t> all_bf16(const std::vector<float>& values) {
  std::vector<uint16_t> out(values.size());
  std::transform(values.begin(), values.end(), out.begin(), to_bf16);
  return out;
}

int output_size(int in, int kernel, int stride, int dilation, int pad_sum) {
  return (in + pad_sum - (kernel - 1) * dilation - 1) / stride + 1;
}

struct Reference {
  std::vector<double> weights;  // [o][i][h][w]
  std::vector<double> bias;
};

Reference reference(const ConvWgrad& p, const std::vector<float>& x, const std::vector<float>& y) {
  Reference r;
  r.weights.assign(static_cast<size_t>(p.out_c) * p.in_c * p.kernel_h * p.kernel_w, 0);
  r.bias.assign(p.out_c, 0);
  for (int n = 0; n < p.batch; ++n) {
    for (int oh = 0; oh < p.out_h; ++oh) {
      for (int ow = 0; ow < p.out_w; ++ow) {
        const float* dy = &y[((size_t(n) * p.out_h + oh) * p.out_w + ow) * p.out_c];
        for (int o = 0; o < p.out_c; ++o) r.bias[o] += dy[o];
        for (int kh = 0; kh < p.kernel_h; ++kh) {
          const int h = oh * p.stride_h + kh * p.dilation_h - p.pad_top;
          if (h < 0 || h >= p.in_h) continue;
          for (int kw = 0; kw < p.kernel_w; ++kw) {
            const int w = ow * p.stride_w + kw * p.dilation_w - p.pad_left;
            if (w < 0 || w >= p.in_w) continue;
            const float* xs = &x[((size_t(n) * p.in_h + h) * p.in_w + w) * p.in_c];
            for (int o = 0; o < p.out_c; ++o) {
              for (int i = 0; i < p.in_c; ++i) {
                r.weights[((size_t(o) * p.in_c + i) * p.kernel_h + kh) * p.kernel_w + kw] +=
                    double{xs[i]} * dy[o];
              }
            }
          }
        }
      }
    }
  }
  return r;
}

std::string describe(const ConvWgrad& p, Isa isa) {
  const auto s = [](int64_t v) { return std::to_string(v) + " "; };
  return std::string(to_string(isa)) + (p.bf16 ? " bf16 n" : " f32 n") + s(p.batch) + "in " +
         s(p.in_h) + s(p.in_w) + s(p.in_c) + "out " + s(p.out_h) + s(p.out_w) + s(p.out_c) + "k " +
         s(p.kernel_h) + s(p.kernel_w) + "s " + s(p.stride_h) + s(p.stride_w) + "d " +
         s(p.dilation_h) + s(p.dilation_w) + "pad " + s(p.pad_top) + s(p.pad_left) + "layout " +
         s(p.layout.o_block) + s(p.layout.i_pack) + s(p.layout.padded_o) + s(p.layout.padded_i) +
         "threads " + s(thread_count());
}

struct Output {
  std::vector<float> weights;
  std::vector<float> bias;
};

Output run(const ConvWgrad& p, const std::vector<float>& x, const std::vector<float>& y, Isa isa,
           bool with_bias = true) {
  const size_t span = p.layout.padded_o * p.layout.padded_i * p.kernel_h * p.kernel_w;
  Buffer weights = aligned_buffer(span * 4);
  const size_t scratch_bytes = conv_wgrad_scratch_bytes(p, isa);
  Buffer scratch = aligned_buffer(scratch_bytes + 64);
  std::memset(scratch.get() + scratch_bytes, 0x5A, 64);
  Output out;
  out.bias.assign(p.out_c, NAN);
  float* bias = with_bias ? out.bias.data() : nullptr;
  auto* dw = reinterpret_cast<float*>(weights.get());
  if (p.bf16) {
    conv_wgrad(p, all_bf16(x).data(), all_bf16(y).data(), dw, bias, scratch.get(), isa);
  } else {
    conv_wgrad(p, x.data(), y.data(), dw, bias, scratch.get(), isa);
  }
  for (int b = 0; b < 64; ++b) EXPECT_EQ(scratch.get()[scratch_bytes + b], 0x5A);
  out.weights.assign(dw, dw + span);
  return out;
}

// Compares every element, padding included, with the double reference.
void expect_correct(const ConvWgrad& p, const std::vector<float>& x, const std::vector<float>& y,
                    const Reference& expected, Isa isa) {
  SCOPED_TRACE(describe(p, isa));
  ASSERT_TRUE(conv_wgrad_supported(p));
  const Output out = run(p, x, y, isa);
  const WgradLayout& l = p.layout;
  const double tolerance = 1e-5 * (8 + std::sqrt(double(p.batch) * p.out_h * p.out_w)) * 4;
  int wrong = 0;
  for (int64_t o = 0; o < l.padded_o; ++o) {
    for (int64_t i = 0; i < l.padded_i; ++i) {
      for (int h = 0; h < p.kernel_h; ++h) {
        for (int w = 0; w < p.kernel_w; ++w) {
          const size_t at = o / l.o_block * l.stride_o + h * l.stride_h + w * l.stride_w +
                            i / l.i_pack * l.stride_i + o % l.o_block * l.i_pack + i % l.i_pack;
          const bool real = o < p.out_c && i < p.in_c;
          const double want =
              real ? expected.weights[((o * p.in_c + i) * p.kernel_h + h) * p.kernel_w + w] : 0;
          const bool good =
              real ? std::abs(out.weights[at] - want) <= tolerance : out.weights[at] == 0;
          if (!good && ++wrong < 5) {
            ADD_FAILURE() << "o " << o << " i " << i << " h " << h << " w " << w << ": "
                          << out.weights[at] << " instead of " << want;
          }
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0);
  for (int o = 0; o < p.out_c; ++o) {
    ASSERT_NEAR(out.bias[o], expected.bias[o], tolerance) << "bias " << o;
  }
}

// All layouts, types, instruction sets and thread counts for one shape.
void check_shape(ConvWgrad p) {
  const auto x = random_values(size_t(p.batch) * p.in_h * p.in_w * p.in_c, 1);
  const auto y = random_values(size_t(p.batch) * p.out_h * p.out_w * p.out_c, 2);
  const Reference expected = reference(p, x, y);
  const auto layout = [&](int block, int pack) {
    return blocked_wgrad_layout(p.out_c, p.in_c, p.kernel_h, p.kernel_w, block, pack);
  };
  std::vector<WgradLayout> layouts = {layout(16, 1), layout(48, 1), layout(p.out_c, 1),
                                      layout(64, 2), layout(32, 2), layout(p.out_c, 2),
                                      layout(10, 2)};
  WgradLayout amx =
      blocked_wgrad_layout(p.out_c, (p.in_c + 31) / 32 * 32, p.kernel_h, p.kernel_w, 64, 2);
  layouts.push_back(amx);
  WgradLayout columns_first = layout(16, 1);  // [o / 16][w][h][i][16]
  columns_first.stride_h = columns_first.stride_w;
  columns_first.stride_w = columns_first.stride_h * p.kernel_h;
  layouts.push_back(columns_first);
  for (int threads : {1, 2, 7}) {
    const ThreadScope scope(threads);
    for (const WgradLayout& l : layouts) {
      for (bool bf16 : {false, true}) {
        p.layout = l;
        p.bf16 = bf16;
        for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
          if (isa <= best_isa()) expect_correct(p, x, y, expected, isa);
        }
      }
    }
  }
}

struct Axis {
  int in, kernel, stride, dilation, pad_begin, pad_end;
};

ConvWgrad shape(int batch, int in_c, int out_c, Axis h, Axis w) {
  ConvWgrad p;
  p.batch = batch;
  p.in_c = in_c;
  p.out_c = out_c;
  p.in_h = h.in;
  p.in_w = w.in;
  p.kernel_h = h.kernel;
  p.kernel_w = w.kernel;
  p.stride_h = h.stride;
  p.stride_w = w.stride;
  p.dilation_h = h.dilation;
  p.dilation_w = w.dilation;
  p.pad_top = h.pad_begin;
  p.pad_left = w.pad_begin;
  p.out_h = output_size(h.in, h.kernel, h.stride, h.dilation, h.pad_begin + h.pad_end);
  p.out_w = output_size(w.in, w.kernel, w.stride, w.dilation, w.pad_begin + w.pad_end);
  return p;
}

ConvWgrad square(int batch, int in_c, int out_c, Axis axis) {
  return shape(batch, in_c, out_c, axis, axis);
}

TEST(ConvWgrad, PaddedKernelOnTinyImagesLeavesUnseenTapsZero) {
  check_shape(square(5, 32, 48, {1, 3, 1, 1, 1, 1}));
  check_shape(square(6, 64, 33, {2, 3, 1, 1, 1, 1}));
  check_shape(square(3, 30, 64, {2, 3, 2, 1, 1, 1}));
  check_shape(square(2, 16, 16, {3, 5, 1, 1, 2, 2}));
}

TEST(ConvWgrad, OneByOneKernels) {
  check_shape(square(7, 64, 96, {4, 1, 1, 1, 0, 0}));
  check_shape(square(2, 17, 5, {5, 1, 2, 1, 0, 0}));
  check_shape(square(3, 128, 130, {1, 1, 1, 1, 0, 0}));
  check_shape(square(3, 29, 40, {7, 1, 3, 1, 1, 1}));
}

TEST(ConvWgrad, FewInputChannelsFoldTheKernelRow) {
  check_shape(square(3, 1, 6, {14, 5, 1, 1, 2, 2}));
  check_shape(square(2, 3, 20, {16, 7, 2, 1, 3, 3}));
  check_shape(square(3, 3, 17, {23, 11, 4, 1, 2, 2}));
  check_shape(square(2, 6, 16, {9, 5, 1, 1, 0, 0}));
  check_shape(square(2, 3, 8, {9, 3, 2, 2, 3, 1}));
  check_shape(square(1, 4, 8, {6, 1, 1, 1, 0, 0}));
}

TEST(ConvWgrad, OddChannelsStridesDilationAndAsymmetricPadding) {
  check_shape(square(3, 17, 31, {9, 3, 1, 1, 1, 1}));
  check_shape(square(2, 15, 50, {11, 3, 2, 1, 0, 1}));
  check_shape(square(3, 20, 16, {12, 3, 4, 1, 2, 0}));
  check_shape(square(2, 33, 7, {10, 3, 1, 2, 2, 2}));
  check_shape(square(2, 18, 24, {11, 4, 2, 3, 4, 5}));
  check_shape(shape(3, 19, 34, {8, 3, 2, 1, 1, 0}, {5, 2, 1, 2, 0, 3}));
  check_shape(shape(2, 16, 16, {3, 1, 1, 1, 0, 0}, {20, 7, 3, 1, 5, 2}));
}

TEST(ConvWgrad, KernelsReachingFarBeyondTheImage) {
  check_shape(square(2, 16, 16, {3, 9, 1, 1, 6, 6}));
  check_shape(square(2, 2, 16, {2, 7, 2, 1, 5, 5}));
}

TEST(ConvWgrad, ManyBlocksOfImages) { check_shape(square(7, 128, 96, {32, 1, 1, 1, 0, 0})); }

TEST(ConvWgrad, BandsOfOneLargeImage) {
  check_shape(shape(1, 64, 48, {71, 3, 2, 1, 1, 1}, {130, 3, 2, 1, 1, 1}));
  check_shape(shape(1, 3, 16, {90, 7, 1, 1, 3, 3}, {250, 7, 1, 1, 3, 3}));
}

TEST(ConvWgrad, IsBitReproducibleAndTheBiasIsOptional) {
  const ThreadScope threads(2);
  ConvWgrad p = square(9, 40, 72, {6, 3, 1, 1, 1, 1});
  p.layout = blocked_wgrad_layout(p.out_c, p.in_c, 3, 3, 32, 1);
  const auto x = random_values(size_t(9) * 36 * 40, 3);
  const auto y = random_values(size_t(9) * 36 * 72, 4);
  const Output first = run(p, x, y, best_isa());
  const Output second = run(p, x, y, best_isa());
  const Output without = run(p, x, y, best_isa(), false);
  EXPECT_EQ(first.weights, second.weights);
  EXPECT_EQ(first.bias, second.bias);
  EXPECT_EQ(first.weights, without.weights);
  EXPECT_TRUE(std::isnan(without.bias[0]));
}

TEST(ConvWgrad, IsPreferredWherePackingPays) {
  if (best_isa() < Isa::avx512) GTEST_SKIP() << "no AVX-512: never preferred";
  const auto preferred = [](ConvWgrad p) {
    p.layout = blocked_wgrad_layout(p.out_c, p.in_c, p.kernel_h, p.kernel_w, 16, 1);
    return conv_wgrad_should_use(p);
  };
  EXPECT_TRUE(preferred(square(42, 512, 512, {1, 3, 1, 1, 1, 1})));
  EXPECT_TRUE(preferred(square(42, 512, 2048, {1, 1, 1, 1, 0, 0})));
  EXPECT_FALSE(preferred(square(42, 64, 64, {8, 1, 1, 1, 0, 0})));
  EXPECT_FALSE(preferred(square(42, 3, 64, {32, 7, 2, 1, 3, 3})));
}

TEST(ConvWgrad, RefusesLayoutsWithGaps) {
  ConvWgrad p = square(1, 8, 16, {4, 3, 1, 1, 1, 1});
  p.layout = blocked_wgrad_layout(16, 8, 3, 3, 16, 1);
  EXPECT_TRUE(conv_wgrad_supported(p));
  p.layout.stride_h += 16;
  EXPECT_FALSE(conv_wgrad_supported(p));
  p.layout = blocked_wgrad_layout(16, 8, 3, 3, 16, 4);
  EXPECT_FALSE(conv_wgrad_supported(p));
}

TEST(WeightGradients, OfManyThreadsAreOurs) {
  if (best_isa() < Isa::avx512) GTEST_SKIP() << "no AVX-512";
  ConvWgrad p;  // the first layer of LeNet-5, which is faster elsewhere with a core to itself
  p.batch = 42;
  p.in_h = p.in_w = 28;
  p.out_h = p.out_w = 28;
  p.out_c = 6;
  p.kernel_h = p.kernel_w = 5;
  p.pad_top = p.pad_left = 2;
  p.layout = blocked_wgrad_layout(6, 1, 5, 5, 16, 1);
  const ThreadScope one(1);
  EXPECT_FALSE(conv_wgrad_should_use(p));
  const ThreadScope many(8);
  EXPECT_TRUE(conv_wgrad_should_use(p));
}

}  // namespace
}  // namespace syrtos::ops::native
