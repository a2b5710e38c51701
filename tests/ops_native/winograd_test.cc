#include "syrtos/ops/native/winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "syrtos/base/parallel.h"

namespace syrtos::ops::native {
namespace {

// The largest error allowed, as a part of the largest magnitude of the result.
constexpr double kBound = 1e-5;

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

std::vector<float> random_values(size_t n, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(n);
  for (float& v : values) v = normal(random);
  return values;
}

// Everything about one problem that does not depend on layout, threads and instruction set;
// weights are [h][w][i][o].
struct Case {
  Winograd p;
  std::vector<float> src, diff_dst, weights, bias;
  std::vector<double> dst, diff_src, diff_weights, diff_bias;

  explicit Case(const Winograd& problem) : p(problem) {
    const size_t pixels_in = size_t(p.batch) * p.in_h * p.in_w;
    const size_t pixels_out = size_t(p.batch) * p.out_h * p.out_w;
    src = random_values(pixels_in * p.in_c, 1);
    diff_dst = random_values(pixels_out * p.out_c, 2);
    weights = random_values(size_t(9) * p.in_c * p.out_c, 3);
    bias = random_values(p.out_c, 4);
    dst.assign(pixels_out * p.out_c, 0);
    diff_src.assign(src.size(), 0);
    diff_weights.assign(weights.size(), 0);
    diff_bias.assign(p.out_c, 0);
    for (size_t pixel = 0; pixel < pixels_out; ++pixel) add_pixel(pixel);
  }

  void add_pixel(size_t pixel) {
    const int ow = static_cast<int>(pixel % p.out_w);
    const int oh = static_cast<int>(pixel / p.out_w % p.out_h);
    const size_t n = pixel / p.out_w / p.out_h;
    const float* dy = &diff_dst[pixel * p.out_c];
    double* y = &dst[pixel * p.out_c];
    for (int o = 0; o < p.out_c; ++o) {
      y[o] += bias[o];
      diff_bias[o] += dy[o];
    }
    for (int tap = 0; tap < 9; ++tap) {
      const int h = oh + tap / 3 - p.pad_top;
      const int w = ow + tap % 3 - p.pad_left;
      if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w) continue;
      const size_t at = ((n * p.in_h + h) * p.in_w + w) * p.in_c;
      for (int i = 0; i < p.in_c; ++i) {
        const size_t row = (size_t(tap) * p.in_c + i) * p.out_c;
        double sum = 0;
        for (int o = 0; o < p.out_c; ++o) {
          y[o] += double{src[at + i]} * weights[row + o];
          diff_weights[row + o] += double{src[at + i]} * dy[o];
          sum += double{dy[o]} * weights[row + o];
        }
        diff_src[at + i] += sum;
      }
    }
  }
};

size_t address(const WgradLayout& l, int64_t o, int64_t i, int tap) {
  return o / l.o_block * l.stride_o + tap / 3 * l.stride_h + tap % 3 * l.stride_w + i * l.stride_i +
         o % l.o_block;
}

// Padding holds NaN: it must not matter.
std::vector<float> in_layout(const Case& c, const WgradLayout& l) {
  std::vector<float> out(l.padded_o * l.padded_i * 9, NAN);
  for (int tap = 0; tap < 9; ++tap) {
    for (int i = 0; i < c.p.in_c; ++i) {
      for (int o = 0; o < c.p.out_c; ++o) {
        out[address(l, o, i, tap)] = c.weights[(size_t(tap) * c.p.in_c + i) * c.p.out_c + o];
      }
    }
  }
  return out;
}

std::string describe(const Winograd& p, Isa isa) {
  const auto s = [](int64_t v) { return std::to_string(v) + " "; };
  return std::string(to_string(isa)) + " n " + s(p.batch) + "in " + s(p.in_h) + s(p.in_w) +
         s(p.in_c) + "out " + s(p.out_h) + s(p.out_w) + s(p.out_c) + "pad " + s(p.pad_top) +
         s(p.pad_left) + "o_block " + s(p.weights.o_block) + "threads " + s(thread_count());
}

void expect_near(const std::vector<float>& got, const std::vector<double>& want,
                 const std::string& what) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 1;
  for (double v : want) largest = std::max(largest, std::abs(v));
  double worst = 0;
  for (size_t k = 0; k < got.size(); ++k) {
    const double error = std::abs(got[k] - want[k]);
    worst = std::max(worst, std::isnan(error) ? INFINITY : error);
  }
  EXPECT_LE(worst / largest, kBound) << what;
}

// Calls the kernel with scratch of exactly the size it asked for.
void with_scratch(size_t bytes, const std::function<void(void*)>& call) {
  Buffer scratch = aligned_buffer(bytes + 64);
  std::memset(scratch.get() + bytes, 0x5A, 64);
  call(scratch.get());
  for (int b = 0; b < 64; ++b) EXPECT_EQ(scratch.get()[bytes + b], 0x5A);
}

std::vector<float> run_forward(const Case& c, const float* bias, bool relu, Isa isa) {
  std::vector<float> dst(c.dst.size(), NAN);
  const std::vector<float> weights = in_layout(c, c.p.weights);
  with_scratch(winograd_forward_scratch_bytes(c.p, isa), [&](void* scratch) {
    winograd_forward(c.p, c.src.data(), weights.data(), bias, relu, dst.data(), scratch, isa);
  });
  return dst;
}

std::vector<float> run_backward_data(const Case& c, Isa isa) {
  std::vector<float> diff_src(c.diff_src.size(), NAN);
  const std::vector<float> weights = in_layout(c, c.p.weights);
  with_scratch(winograd_backward_data_scratch_bytes(c.p, isa), [&](void* scratch) {
    winograd_backward_data(c.p, c.diff_dst.data(), weights.data(), diff_src.data(), scratch, isa);
  });
  return diff_src;
}

std::vector<float> run_backward_weights(const Case& c, float* diff_bias, Isa isa) {
  const WgradLayout& l = c.p.weights;
  std::vector<float> diff_weights(l.padded_o * l.padded_i * 9, NAN);
  with_scratch(winograd_backward_weights_scratch_bytes(c.p, isa), [&](void* scratch) {
    winograd_backward_weights(c.p, c.src.data(), c.diff_dst.data(), diff_weights.data(), diff_bias,
                              scratch, isa);
  });
  return diff_weights;
}

void expect_correct(const Case& c, Isa isa) {
  SCOPED_TRACE(describe(c.p, isa));
  ASSERT_TRUE(winograd_supported(c.p));
  expect_near(run_forward(c, c.bias.data(), false, isa), c.dst, "dst");
  expect_near(run_backward_data(c, isa), c.diff_src, "diff_src");

  std::vector<float> diff_bias(c.p.out_c, NAN);
  const std::vector<float> blocked = run_backward_weights(c, diff_bias.data(), isa);
  const WgradLayout& l = c.p.weights;
  std::vector<float> plain(c.diff_weights.size());
  for (int tap = 0; tap < 9; ++tap) {
    for (int64_t i = 0; i < l.padded_i; ++i) {
      for (int64_t o = 0; o < l.padded_o; ++o) {
        const float value = blocked[address(l, o, i, tap)];
        if (i < c.p.in_c && o < c.p.out_c) {
          plain[(tap * c.p.in_c + i) * c.p.out_c + o] = value;
        } else {
          ASSERT_EQ(value, 0) << "padding at o " << o << " i " << i << " tap " << tap;
        }
      }
    }
  }
  expect_near(plain, c.diff_weights, "diff_weights");
  expect_near(diff_bias, c.diff_bias, "diff_bias");
}

// All layouts, instruction sets and thread counts for one shape.
void check_shape(const Winograd& problem) {
  Case c(problem);
  const int in_c = c.p.in_c;
  const int out_c = c.p.out_c;
  std::vector<WgradLayout> layouts = {blocked_wgrad_layout(out_c, in_c, 3, 3, 16, 1),
                                      blocked_wgrad_layout(out_c, in_c, 3, 3, 64, 1),
                                      blocked_wgrad_layout(out_c, in_c + 3, 3, 3, 48, 1),
                                      blocked_wgrad_layout(out_c, in_c, 3, 3, out_c, 1)};
  WgradLayout columns_first = layouts[0];  // [o / 16][w][h][i][16]
  std::swap(columns_first.stride_h, columns_first.stride_w);
  layouts.push_back(columns_first);
  for (int threads : {1, 2, 5}) {
    const ThreadScope scope(threads);
    for (const WgradLayout& l : layouts) {
      c.p.weights = l;
      expect_correct(c, best_isa());
    }
    c.p.weights = layouts[1];
    for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512}) {
      if (isa < best_isa()) expect_correct(c, isa);
    }
  }
}

struct Axis {
  int in, pad_begin, pad_end;
};

Winograd shape(int batch, int in_c, int out_c, Axis h, Axis w) {
  Winograd p;
  p.batch = batch;
  p.in_c = in_c;
  p.out_c = out_c;
  p.in_h = h.in;
  p.in_w = w.in;
  p.out_h = h.in + h.pad_begin + h.pad_end - 2;
  p.out_w = w.in + w.pad_begin + w.pad_end - 2;
  p.pad_top = h.pad_begin;
  p.pad_left = w.pad_begin;
  return p;
}

Winograd square(int batch, int in_c, int out_c, Axis axis) {
  return shape(batch, in_c, out_c, axis, axis);
}

TEST(Winograd, ImagesOfWholeTiles) {
  check_shape(square(1, 16, 16, {4, 1, 1}));
  check_shape(square(3, 32, 64, {8, 1, 1}));
  check_shape(square(2, 64, 32, {16, 1, 1}));
}

TEST(Winograd, ImagesThatAreNoMultipleOfTheTile) {
  check_shape(square(5, 16, 32, {1, 1, 1}));
  check_shape(square(3, 16, 32, {2, 1, 1}));
  check_shape(square(2, 32, 16, {3, 1, 1}));
  check_shape(square(2, 16, 16, {7, 1, 1}));
  check_shape(shape(2, 16, 48, {13, 1, 1}, {10, 1, 1}));
}

TEST(Winograd, OddChannels) {
  check_shape(square(2, 1, 1, {6, 1, 1}));
  check_shape(square(2, 3, 20, {9, 1, 1}));
  check_shape(square(3, 17, 31, {5, 1, 1}));
  check_shape(square(2, 50, 7, {8, 1, 1}));
  check_shape(square(1, 33, 67, {6, 1, 1}));
}

TEST(Winograd, AnyPadding) {
  check_shape(square(2, 16, 16, {9, 0, 0}));
  check_shape(square(2, 20, 16, {7, 2, 2}));
  check_shape(shape(2, 16, 18, {8, 0, 1}, {6, 2, 0}));
  check_shape(shape(1, 16, 16, {5, 3, 0}, {3, 0, 4}));
}

TEST(Winograd, ManyTilesGoInBlocks) {
  check_shape(square(43, 64, 48, {8, 1, 1}));
  check_shape(square(7, 128, 64, {15, 1, 1}));
  check_shape(shape(1, 48, 40, {66, 1, 1}, {35, 1, 1}));
  check_shape(square(5, 20, 24, {45, 1, 1}));
}

TEST(Winograd, FewTilesAndManyChannelsGoByPanels) {
  check_shape(square(43, 144, 128, {4, 1, 1}));
  check_shape(square(11, 100, 120, {6, 1, 1}));
  check_shape(square(19, 200, 320, {4, 1, 1}));
}

TEST(Winograd, ReluAndAbsentBias) {
  const ThreadScope threads(2);
  Case c(square(3, 24, 40, {9, 1, 1}));
  c.p.weights = blocked_wgrad_layout(40, 24, 3, 3, 32, 1);
  std::vector<double> want = c.dst;
  for (double& v : want) v = std::max(v, 0.0);
  expect_near(run_forward(c, c.bias.data(), true, best_isa()), want, "relu");
  for (size_t k = 0; k < want.size(); ++k) want[k] = c.dst[k] - c.bias[k % 40];
  expect_near(run_forward(c, nullptr, false, best_isa()), want, "no bias");
}

TEST(Winograd, IsBitReproducibleAndDiffBiasIsOptional) {
  for (int threads : {1, 2}) {
    const ThreadScope scope(threads);
    Case c(square(9, 40, 72, {10, 1, 1}));
    c.p.weights = blocked_wgrad_layout(72, 40, 3, 3, 16, 1);
    std::vector<float> bias(72), again(72);
    const auto first = run_backward_weights(c, bias.data(), best_isa());
    EXPECT_EQ(first, run_backward_weights(c, again.data(), best_isa()));
    EXPECT_EQ(first, run_backward_weights(c, nullptr, best_isa()));
    EXPECT_EQ(bias, again);
    EXPECT_EQ(run_backward_data(c, best_isa()), run_backward_data(c, best_isa()));
    EXPECT_EQ(run_forward(c, nullptr, true, best_isa()), run_forward(c, nullptr, true, best_isa()));
  }
}

TEST(Winograd, RunsInsideAParallelRegionOnOneThread) {
  const ThreadScope threads(2);
  Case c(square(10, 80, 72, {9, 1, 1}));
  c.p.weights = blocked_wgrad_layout(72, 80, 3, 3, 16, 1);
  parallel([&](int thread, int) {
    if (thread == 0) expect_correct(c, best_isa());
  });
}

TEST(Winograd, IsChosenWhereItSavesMoreThanItsTransformsCost) {
  if (best_isa() < Isa::avx512) GTEST_SKIP() << "no AVX-512: direct convolution everywhere";
  const auto chosen = [](Winograd p) {
    p.weights = blocked_wgrad_layout(p.out_c, p.in_c, 3, 3, 16, 1);
    const int count = int{winograd_forward_should_use(p)} +
                      int{winograd_backward_data_should_use(p)} +
                      int{winograd_backward_weights_should_use(p)};
    EXPECT_TRUE(count == 0 || count == 3) << describe(p, best_isa());
    return count == 3;
  };
  EXPECT_TRUE(chosen(square(42, 64, 64, {32, 1, 1})));
  EXPECT_TRUE(chosen(square(42, 512, 512, {4, 1, 1})));
  EXPECT_TRUE(chosen(square(8, 256, 256, {14, 1, 1})));
  EXPECT_FALSE(chosen(square(42, 3, 16, {32, 1, 1})));    // the transforms outweigh
  EXPECT_FALSE(chosen(square(42, 256, 256, {2, 1, 1})));  // most of each tile is empty
  EXPECT_FALSE(chosen(square(1, 512, 512, {4, 1, 1})));   // the weights' transform outweighs
}

TEST(Winograd, RefusesOtherLayouts) {
  Winograd p = square(1, 8, 16, {4, 1, 1});
  p.weights = blocked_wgrad_layout(16, 8, 3, 3, 16, 1);
  EXPECT_TRUE(winograd_supported(p));
  p.weights.stride_h += 16;
  EXPECT_FALSE(winograd_supported(p));
  p.weights = blocked_wgrad_layout(16, 8, 3, 3, 16, 2);
  EXPECT_FALSE(winograd_supported(p));
}

}  // namespace
}  // namespace syrtos::ops::native
