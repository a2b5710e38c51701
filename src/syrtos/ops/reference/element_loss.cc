#include "syrtos/ops/element_loss.h"

#include <algorithm>
#include <cmath>

namespace syrtos::ops {

namespace {

double value_of(ElementLossKind kind, double delta, double x, double target) {
  const double d = std::fabs(x - target);
  switch (kind) {
    case ElementLossKind::absolute:
      return d;
    case ElementLossKind::huber:
      return d <= delta ? d * d / 2 : delta * (d - delta / 2);
    case ElementLossKind::binary_cross_entropy: {
      const double p = 1 / (1 + std::exp(-x));
      return -target * std::log(p) - (1 - target) * std::log(1 - p);
    }
  }
  return 0;
}

double slope_of(ElementLossKind kind, double delta, double x, double target) {
  const double d = x - target;
  switch (kind) {
    case ElementLossKind::absolute:
      return d > 0 ? 1 : (d < 0 ? -1 : 0);
    case ElementLossKind::huber:
      return std::clamp(d, -delta, delta);
    case ElementLossKind::binary_cross_entropy:
      return 1 / (1 + std::exp(-x)) - target;
  }
  return 0;
}

}  // namespace

void ElementLoss::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                            const Step& /*step*/) const {
  const int64_t n = inputs[0].shape.elements();
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += value_of(kind, delta, inputs[0][i], inputs[1][i]);
  outputs[0][0] = sum / static_cast<double>(n);
}

void ElementLossBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                    const Step& /*step*/) const {
  const int64_t n = inputs[0].shape.elements();
  for (int64_t i = 0; i < n; ++i) {
    outputs[0][i] =
        inputs[2][0] / static_cast<double>(n) * slope_of(kind, delta, inputs[0][i], inputs[1][i]);
  }
}

}  // namespace syrtos::ops
