#include "syrtos/ops/batch_norm.h"

#include <algorithm>
#include <cmath>

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

namespace {

/// Calls body(position) for every element of a channel.
template <typename Body>
void for_channel(const Planes& planes, int64_t channel, Body&& body) {
  for (int64_t n = 0; n < planes.batch; ++n) {
    for (int64_t p = 0; p < planes.pixels; ++p) body(planes.at(n, channel, p));
  }
}

struct Statistics {
  double mean = 0;
  double variance = 0;  ///< biased
};

Statistics statistics_of(const RefTensor& src, const Planes& planes, int64_t channel) {
  const auto count = static_cast<double>(planes.batch * planes.pixels);
  Statistics result;
  for_channel(planes, channel, [&](int64_t i) { result.mean += src[i] / count; });
  for_channel(planes, channel, [&](int64_t i) {
    result.variance += (src[i] - result.mean) * (src[i] - result.mean) / count;
  });
  return result;
}

}  // namespace

// dst = gamma * (src - mean) / sqrt(variance + epsilon) + beta (+ residual), then max(dst, 0) if
// fused. The inputs are constant here: moving the running statistics is left to the kernels.
void BatchNorm::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const RefTensor& gamma = inputs[1];
  const RefTensor& beta = inputs[2];
  const Planes planes(src.shape);
  for (int64_t c = 0; c < planes.channels; ++c) {
    const Statistics statistics =
        training ? statistics_of(src, planes, c) : Statistics{inputs[3][c], inputs[4][c]};
    const double inv_std = 1.0 / std::sqrt(statistics.variance + static_cast<double>(epsilon));
    for_channel(planes, c, [&](int64_t i) {
      double value = gamma[c] * (src[i] - statistics.mean) * inv_std + beta[c];
      if (add) value += inputs[5][i];
      outputs[0][i] = relu ? std::max(value, 0.0) : value;
    });
    if (!training) continue;
    outputs[1][c] = statistics.mean;
    outputs[2][c] = inv_std;
  }
}

// With x^ = (src - mean) * inv_std, g = diff_dst (0 where the fused ReLU gave 0) and M elements per
// channel: diff_beta = sum g, diff_gamma = sum g x^,
// diff_src = gamma * inv_std * (g - diff_beta / M - x^ diff_gamma / M), diff_residual = g.
void BatchNormBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                  const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const RefTensor& gamma = inputs[1];
  const RefTensor& mean = inputs[2];
  const RefTensor& inv_std = inputs[3];
  const RefTensor& diff_dst = inputs[4];
  const Planes planes(src.shape);
  const auto count = static_cast<double>(planes.batch * planes.pixels);
  for (int64_t c = 0; c < planes.channels; ++c) {
    const auto masked = [&](int64_t i) { return relu && inputs[5][i] <= 0 ? 0.0 : diff_dst[i]; };
    const auto normal = [&](int64_t i) { return (src[i] - mean[c]) * inv_std[c]; };
    double diff_gamma = 0;
    double diff_beta = 0;
    for_channel(planes, c, [&](int64_t i) {
      diff_gamma += masked(i) * normal(i);
      diff_beta += masked(i);
    });
    for_channel(planes, c, [&](int64_t i) {
      outputs[0][i] =
          gamma[c] * inv_std[c] * (masked(i) - diff_beta / count - normal(i) * diff_gamma / count);
      if (add) outputs[3][i] = masked(i);
    });
    outputs[1][c] = diff_gamma;
    outputs[2][c] = diff_beta;
  }
}

}  // namespace syrtos::ops
