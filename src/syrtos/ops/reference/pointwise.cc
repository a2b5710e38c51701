#include "syrtos/ops/pointwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace syrtos::ops {

namespace {

double normal_distribution(double x) { return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)); }

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double value_of(PointwiseKind kind, double x, double alpha, double beta) {
  switch (kind) {
    case PointwiseKind::negative:
      return -x;
    case PointwiseKind::absolute:
      return std::fabs(x);
    case PointwiseKind::square_root:
      return std::sqrt(x);
    case PointwiseKind::exponential:
      return std::exp(x);
    case PointwiseKind::logarithm:
      return std::log(x);
    case PointwiseKind::erf:
      return std::erf(x);
    case PointwiseKind::reciprocal:
      return 1 / x;
    case PointwiseKind::leaky_relu:
      return x < 0 ? alpha * x : x;
    case PointwiseKind::elu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case PointwiseKind::softplus:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
    case PointwiseKind::hard_sigmoid:
      return std::clamp(alpha * x + beta, 0.0, 1.0);
    case PointwiseKind::hard_swish:
      return x * std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case PointwiseKind::clip:
      return std::min(std::max(x, alpha), beta);
    case PointwiseKind::exact_gelu:
      return x * normal_distribution(x);
    case PointwiseKind::silu:
      return x * sigmoid(x);
  }
  return 0;
}

double slope_of(PointwiseKind kind, double x, double alpha, double beta) {
  switch (kind) {
    case PointwiseKind::negative:
      return -1;
    case PointwiseKind::absolute:
      return x > 0 ? 1 : x < 0 ? -1 : 0;
    case PointwiseKind::square_root:
      return 0.5 / std::sqrt(x);
    case PointwiseKind::exponential:
      return std::exp(x);
    case PointwiseKind::logarithm:
      return 1 / x;
    case PointwiseKind::erf:
      return 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    case PointwiseKind::reciprocal:
      return -1 / (x * x);
    case PointwiseKind::leaky_relu:
      return x < 0 ? alpha : 1;
    case PointwiseKind::elu:
      return x < 0 ? alpha * std::exp(x) : 1;
    case PointwiseKind::softplus:
      return sigmoid(x);
    case PointwiseKind::hard_sigmoid:
      return alpha * x + beta > 0 && alpha * x + beta < 1 ? alpha : 0;
    case PointwiseKind::hard_swish:
      return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
    case PointwiseKind::clip:
      return x >= alpha && x <= beta ? 1 : 0;
    case PointwiseKind::exact_gelu:
      return normal_distribution(x) +
             x * std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    case PointwiseKind::silu:
      return sigmoid(x) * (1 + x * (1 - sigmoid(x)));
  }
  return 0;
}

}  // namespace

// dst = f(src)
void Pointwise::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  for (int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    outputs[0][i] = value_of(kind, inputs[0][i], alpha, beta);
  }
}

// diff_src = f'(src) * diff_dst
void PointwiseBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                  const Step& /*step*/) const {
  for (int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    outputs[0][i] = slope_of(kind, inputs[0][i], alpha, beta) * inputs[1][i];
  }
}

}  // namespace syrtos::ops
