#include "syrtos/ops/native/amx/conv.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/native/amx/tiles.h"
#include "tests/ops_native/amx_tensors.h"

// All three directions against sums in double, with values that bf16 holds exactly.

namespace syrtos::ops::native {
namespace {

// Where weight (o, i, tap) lies.
size_t weight_index(const AmxConv& p, int o, int i, int tap) {
  const int taps = p.kernel_h * p.kernel_w;
  if (!amx_conv_tiled(p)) return (size_t(o) * p.in_c + i) * taps + tap;
  const size_t tile = (size_t(o / 16) * taps + tap) * (p.in_c / 32) + i / 32;
  return tile * 512 + i % 32 / 2 * 32 + o % 16 * 2 + i % 2;
}

struct Expected {
  std::vector<double> dst, diff_src, diff_weights, diff_bias;
};

// Calls visit(pixel of dst, pixel of src, tap) wherever a tap meets the image.
template <typename Visit>
void for_each_tap(const AmxConv& p, Visit visit) {
  for (int n = 0; n < p.batch; ++n) {
    for (int oh = 0; oh < p.out_h; ++oh) {
      for (int ow = 0; ow < p.out_w; ++ow) {
        for (int tap = 0; tap < p.kernel_h * p.kernel_w; ++tap) {
          const int h = oh * p.stride_h + tap / p.kernel_w * p.dilation_h - p.pad_top;
          const int w = ow * p.stride_w + tap % p.kernel_w * p.dilation_w - p.pad_left;
          if (h < 0 || h >= p.in_h || w < 0 || w >= p.in_w) continue;
          visit((size_t(n) * p.out_h + oh) * p.out_w + ow, (size_t(n) * p.in_h + h) * p.in_w + w,
                tap);
        }
      }
    }
  }
}

Expected expect(const AmxConv& p, const std::vector<float>& src, const std::vector<float>& weights,
                const std::vector<float>& diff_dst) {
  Expected e;
  e.dst.assign(diff_dst.size(), 0);
  e.diff_src.assign(src.size(), 0);
  e.diff_weights.assign(weights.size(), 0);
  e.diff_bias.assign(p.out_c, 0);
  for_each_tap(p, [&](size_t to, size_t from, int tap) {
    for (int o = 0; o < p.out_c; ++o) {
      const double dy = diff_dst[to * p.out_c + o];
      double sum = 0;
      for (int i = 0; i < p.in_c; ++i) {
        const size_t at = weight_index(p, o, i, tap);
        sum += double{src[from * p.in_c + i]} * weights[at];
        e.diff_src[from * p.in_c + i] += dy * weights[at];
        e.diff_weights[at] += dy * src[from * p.in_c + i];
      }
      e.dst[to * p.out_c + o] += sum;
    }
  });
  for (size_t i = 0; i < diff_dst.size(); ++i) e.diff_bias[i % p.out_c] += diff_dst[i];
  return e;
}

struct Case {
  std::string name;
  AmxConv conv;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

AmxConv conv(int batch, int size, int in_c, int out_c, int kernel, int stride, int pad,
             int dilation = 1) {
  AmxConv p;
  p.batch = batch;
  p.in_h = p.in_w = size;
  p.in_c = in_c;
  p.out_c = out_c;
  p.kernel_h = p.kernel_w = kernel;
  p.stride_h = p.stride_w = stride;
  p.dilation_h = p.dilation_w = dilation;
  p.pad_top = p.pad_left = pad;
  p.out_h = p.out_w = (size + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
  return p;
}

// Each kind of layer of the zoo, small in what does not matter, and what lies beside them.
std::vector<Case> cases() {
  std::vector<Case> all{
      {"narrow_3x3", conv(42, 4, 64, 64, 3, 1, 1)},
      {"narrow_3x3_batch_20", conv(20, 5, 32, 48, 3, 1, 1)},
      {"narrow_3x3_batch_7", conv(7, 4, 32, 80, 3, 1, 1)},
      {"narrow_3x3_batch_1", conv(1, 2, 64, 32, 3, 1, 1)},
      {"narrow_3x3_stride_2", conv(34, 8, 32, 64, 3, 2, 1)},
      {"narrow_3x3_stride_2_odd", conv(18, 7, 64, 32, 3, 2, 1)},
      {"narrow_on_one_pixel", conv(42, 1, 64, 96, 3, 1, 1)},
      {"narrow_5x5", conv(21, 7, 64, 192, 5, 1, 2)},
      {"narrow_dilation_2", conv(17, 9, 32, 32, 3, 1, 2, 2)},
      {"wide_3x3", conv(3, 32, 32, 32, 3, 1, 1)},
      {"wide_3x3_16", conv(5, 16, 64, 48, 3, 1, 1)},
      {"wide_3x3_odd", conv(2, 29, 32, 64, 3, 1, 1)},
      {"wide_3x3_stride_2", conv(3, 32, 32, 64, 3, 2, 1)},
      {"wide_3x3_stride_2_odd", conv(2, 31, 64, 32, 3, 2, 1)},
      {"wide_1x1_stride_2", conv(3, 32, 64, 32, 1, 2, 0)},
      {"wide_5x5_stride_3", conv(2, 48, 32, 32, 5, 3, 2)},
      {"wide_without_padding", conv(2, 34, 32, 32, 3, 1, 0)},
      {"wide_odd_channels", conv(2, 20, 24, 40, 3, 1, 1)},
      {"flat_1x1", conv(13, 5, 64, 96, 1, 1, 0)},
      {"flat_1x1_odd_channels", conv(5, 6, 17, 33, 1, 1, 0)},
      {"flat_1x1_one_row", conv(1, 1, 64, 64, 1, 1, 0)},
      {"stride_2_1x1_narrow", conv(42, 4, 64, 128, 1, 2, 0)},
      {"first_layer_7x7", conv(4, 32, 3, 64, 7, 2, 3)},
      {"first_layer_3x3", conv(5, 32, 3, 64, 3, 1, 1)},
      {"first_layer_11x11", conv(2, 64, 3, 64, 11, 4, 2)},
      {"first_layer_2x2", conv(3, 32, 3, 24, 2, 1, 0)},
      {"one_channel_5x5", conv(3, 28, 1, 6, 5, 1, 2)},
      {"six_channels_5x5", conv(9, 14, 6, 16, 5, 1, 0)},
      {"sixteen_channels", conv(20, 8, 16, 16, 3, 1, 1)},
      {"odd_channels_narrow", conv(20, 6, 40, 24, 3, 1, 1)},
      {"long_sums", conv(70, 8, 32, 32, 3, 1, 1)},
      {"several_chunks", conv(42, 16, 128, 96, 3, 1, 1)},
      {"several_chunks_of_one_pixel", conv(3000, 1, 96, 64, 1, 1, 0)},
      {"large_images", conv(2, 100, 64, 32, 3, 1, 1)},
  };
  Case row{"one_row", conv(6, 20, 32, 32, 5, 1, 2)};
  row.conv.in_h = row.conv.out_h = row.conv.kernel_h = 1;
  row.conv.pad_top = 0;
  all.push_back(row);
  Case asymmetric{"asymmetric_padding", conv(4, 8, 32, 32, 3, 2, 0)};
  asymmetric.conv.out_h = asymmetric.conv.out_w = 4;
  all.push_back(asymmetric);
  return all;
}

class AmxConvolutions : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!amx_usable()) GTEST_SKIP() << "no AMX with bf16";
  }
};

TEST_P(AmxConvolutions, GiveTheSumsOfTheReferenceInAllDirections) {
  const AmxConv p = GetParam().conv;
  ASSERT_TRUE(amx_conv_supported(p));
  const size_t in = size_t(p.batch) * p.in_h * p.in_w * p.in_c;
  const size_t out = size_t(p.batch) * p.out_h * p.out_w * p.out_c;
  const size_t count = size_t(p.out_c) * p.in_c * p.kernel_h * p.kernel_w;
  Tensor16 src = random_tensor(in, 1);
  Tensor16 weights = random_tensor(count, 2);
  Tensor16 diff_dst = random_tensor(out, 3);
  const Expected e = expect(p, src.values, weights.values, diff_dst.values);
  std::vector<float> bias(p.out_c);
  for (int o = 0; o < p.out_c; ++o) bias[o] = static_cast<float>(o % 7) - 3;

  for (const int threads : {1, 2, 3}) {
    SCOPED_TRACE(threads);
    const ThreadScope scope(threads);
    Bytes scratch = aligned_bytes(amx_conv_forward_scratch_bytes(p));
    Tensor16 dst = random_tensor(out, 4);
    amx_conv_forward(p, src.data(), weights.data(), nullptr, false, dst.data(), scratch.get());
    expect_close(
        "dst", e.dst, [&](size_t i) { return to_float(dst.data()[i]); }, 1e-2);
    amx_conv_forward(p, src.data(), weights.data(), bias.data(), true, dst.data(), scratch.get());
    std::vector<double> with_bias = e.dst;
    for (size_t i = 0; i < out; ++i) with_bias[i] = std::max(0.0, e.dst[i] + bias[i % p.out_c]);
    expect_close(
        "relu", with_bias, [&](size_t i) { return to_float(dst.data()[i]); }, 1e-2);

    Tensor16 diff_src = random_tensor(in, 5);
    scratch = aligned_bytes(amx_conv_backward_data_scratch_bytes(p));
    amx_conv_backward_data(p, diff_dst.data(), weights.data(), diff_src.data(), scratch.get());
    expect_close(
        "diff_src", e.diff_src, [&](size_t i) { return to_float(diff_src.data()[i]); }, 1e-2);

    Bytes gradient = aligned_bytes(count * 4);
    auto* diff_weights = reinterpret_cast<float*>(gradient.get());
    std::vector<float> diff_bias(p.out_c);
    scratch = aligned_bytes(amx_conv_backward_weights_scratch_bytes(p));
    amx_conv_backward_weights(p, src.data(), diff_dst.data(), diff_weights, diff_bias.data(),
                              scratch.get());
    expect_close(
        "diff_weights", e.diff_weights, [&](size_t i) { return diff_weights[i]; }, 1e-4);
    expect_close(
        "diff_bias", e.diff_bias, [&](size_t i) { return diff_bias[i]; }, 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, AmxConvolutions, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace syrtos::ops::native
