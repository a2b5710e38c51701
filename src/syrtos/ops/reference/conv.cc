#include "syrtos/ops/conv.h"

#include <algorithm>

namespace syrtos::ops {

namespace {

/// src, weights and dst of a convolution as 2-D; a 1-D image has one row.
struct Geometry {
  int64_t batch, in_channels, out_channels, groups;
  std::array<int64_t, 2> in, out, kernel, stride, dilation, pad;

  Geometry(const Window& window, int64_t g, const Shape& src, const Shape& dst)
      : batch(src[0]), in_channels(src[1]), out_channels(dst[1]), groups(g) {
    in = out = kernel = stride = dilation = {1, 1};
    pad = {0, 0};
    for (int axis = 0; axis < window.axes; ++axis) {
      const auto from = static_cast<size_t>(axis);
      const auto to = static_cast<size_t>(axis + 2 - window.axes);
      in[to] = src[axis + 2];
      out[to] = dst[axis + 2];
      kernel[to] = window.kernel[from];
      stride[to] = window.stride[from];
      dilation[to] = window.dilation[from];
      pad[to] = window.pad_begin[from];
    }
  }
};

/// Calls body(src position, weights position, dst position) for every multiply-add:
/// dst[n,o,y,x] += weights[o,i,ky,kx] * src[n, group(o)*I/groups + i, y*s - pad + ky*d, ...].
template <typename Body>
void for_each_product(const Geometry& g, Body&& body) {
  const int64_t in_group = g.in_channels / g.groups;
  const int64_t out_group = g.out_channels / g.groups;
  const auto image = [&](int64_t n, int64_t o, int64_t y, int64_t x) {
    const int64_t dst = ((n * g.out_channels + o) * g.out[0] + y) * g.out[1] + x;
    for (int64_t i = 0; i < in_group; ++i) {
      for (int64_t ky = 0; ky < g.kernel[0]; ++ky) {
        for (int64_t kx = 0; kx < g.kernel[1]; ++kx) {
          const int64_t sy = y * g.stride[0] - g.pad[0] + ky * g.dilation[0];
          const int64_t sx = x * g.stride[1] - g.pad[1] + kx * g.dilation[1];
          if (sy < 0 || sy >= g.in[0] || sx < 0 || sx >= g.in[1]) continue;
          const int64_t channel = o / out_group * in_group + i;
          const int64_t src = ((n * g.in_channels + channel) * g.in[0] + sy) * g.in[1] + sx;
          const int64_t weight = ((o * in_group + i) * g.kernel[0] + ky) * g.kernel[1] + kx;
          body(src, weight, dst);
        }
      }
    }
  };
  for (int64_t n = 0; n < g.batch; ++n) {
    for (int64_t o = 0; o < g.out_channels; ++o) {
      for (int64_t y = 0; y < g.out[0]; ++y) {
        for (int64_t x = 0; x < g.out[1]; ++x) image(n, o, y, x);
      }
    }
  }
}

}  // namespace

// dst = sum of weights * src (+ bias), then max(dst, 0) if fused.
void Conv::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                     const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const RefTensor& weights = inputs[1];
  RefTensor& dst = outputs[0];
  const int64_t plane = dst.shape.elements_from(2);
  for (int64_t i = 0; i < dst.shape.elements(); ++i) {
    dst[i] = bias ? inputs[2][i / plane % dst.shape[1]] : 0.0;
  }
  for_each_product(Geometry(window, groups, src.shape, dst.shape),
                   [&](int64_t s, int64_t w, int64_t d) { dst[d] += weights[w] * src[s]; });
  if (!relu) return;
  for (double& value : dst.values) value = std::max(value, 0.0);
}

// diff_src = sum of weights * diff_dst over all products src took part in.
void ConvBackwardData::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                 const Step& /*step*/) const {
  const RefTensor& diff_dst = inputs[0];
  const RefTensor& weights = inputs[1];
  RefTensor& diff_src = outputs[0];
  std::fill(diff_src.values.begin(), diff_src.values.end(), 0.0);
  for_each_product(
      Geometry(window, groups, src_shape, diff_dst.shape),
      [&](int64_t s, int64_t w, int64_t d) { diff_src[s] += weights[w] * diff_dst[d]; });
}

// diff_weights = sum of src * diff_dst; diff_bias = sum of diff_dst over batch and pixels.
void ConvBackwardWeights::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                    const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const RefTensor& diff_dst = inputs[1];
  RefTensor& diff_weights = outputs[0];
  std::fill(diff_weights.values.begin(), diff_weights.values.end(), 0.0);
  for_each_product(
      Geometry(window, groups, src.shape, diff_dst.shape),
      [&](int64_t s, int64_t w, int64_t d) { diff_weights[w] += src[s] * diff_dst[d]; });
  if (!bias) return;
  std::fill(outputs[1].values.begin(), outputs[1].values.end(), 0.0);
  const int64_t plane = diff_dst.shape.elements_from(2);
  for (int64_t i = 0; i < diff_dst.shape.elements(); ++i) {
    outputs[1][i / plane % diff_dst.shape[1]] += diff_dst[i];
  }
}

}  // namespace syrtos::ops
