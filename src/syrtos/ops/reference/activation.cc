#include "syrtos/ops/activation.h"

#include <algorithm>
#include <cmath>

namespace syrtos::ops {

// relu: max(x, 0); sigmoid: 1 / (1 + exp(-x)); tanh: tanh(x)
void Activation::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                           const Step& /*step*/) const {
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    const double x = inputs[0][i];
    switch (kind) {
      case ActivationKind::relu:
        outputs[0][i] = std::max(x, 0.0);
        break;
      case ActivationKind::sigmoid:
        outputs[0][i] = 1.0 / (1.0 + std::exp(-x));
        break;
      case ActivationKind::tanh:
        outputs[0][i] = std::tanh(x);
        break;
    }
  }
}

// relu: g where y > 0, else 0; sigmoid: g y (1 - y); tanh: g (1 - y^2)
void ActivationBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                   const Step& /*step*/) const {
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    const double y = inputs[0][i];
    const double g = inputs[1][i];
    switch (kind) {
      case ActivationKind::relu:
        outputs[0][i] = y > 0 ? g : 0.0;
        break;
      case ActivationKind::sigmoid:
        outputs[0][i] = g * y * (1.0 - y);
        break;
      case ActivationKind::tanh:
        outputs[0][i] = g * (1.0 - y * y);
        break;
    }
  }
}

}  // namespace syrtos::ops
