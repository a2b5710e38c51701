#include "syrtos/ops/gelu.h"

#include <cmath>
#include <numbers>

namespace syrtos::ops {

namespace {

const double kSlope = 2 * std::sqrt(2 / std::numbers::pi);
constexpr double kCubic = 0.044715;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

// y = x s(u) with u = a (x + c x^3)
void Gelu::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                     const Step& /*step*/) const {
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    const double x = inputs[0][i];
    outputs[0][i] = x * sigmoid(kSlope * (x + kCubic * x * x * x));
  }
}

// y' = s + x s (1 - s) u' with u' = a (1 + 3 c x^2)
void GeluBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                             const Step& /*step*/) const {
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    const double x = inputs[0][i];
    const double s = sigmoid(kSlope * (x + kCubic * x * x * x));
    const double inner = kSlope * (1 + 3 * kCubic * x * x);
    outputs[0][i] = inputs[1][i] * (s + x * s * (1 - s) * inner);
  }
}

}  // namespace syrtos::ops
