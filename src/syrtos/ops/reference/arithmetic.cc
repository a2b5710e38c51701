#include "syrtos/ops/arithmetic.h"

#include <algorithm>

namespace syrtos::ops {

// dst = sum of the inputs, then max(dst, 0) if fused
void Add::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                    const Step& /*step*/) const {
  for (int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    double sum = 0;
    for (const RefTensor& input : inputs) sum += input[i];
    outputs[0][i] = relu ? std::max(sum, 0.0) : sum;
  }
}

// dst = a * b
void Multiply::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                         const Step& /*step*/) const {
  for (int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    outputs[0][i] = inputs[0][i] * inputs[1][i];
  }
}

// dst = factor * src
void Scale::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                      const Step& /*step*/) const {
  for (int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    outputs[0][i] = static_cast<double>(factor) * inputs[0][i];
  }
}

// dst = src * factor[0]
void ScaleBy::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                        const Step& /*step*/) const {
  for (int64_t i = 0; i < outputs[0].shape.elements(); ++i) {
    outputs[0][i] = inputs[0][i] * inputs[1][0];
  }
}

// dst = value
void Constant::reference(std::span<const RefTensor> /*inputs*/, std::span<RefTensor> outputs,
                         const Step& /*step*/) const {
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), static_cast<double>(value));
}

}  // namespace syrtos::ops
