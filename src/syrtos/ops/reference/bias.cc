#include "syrtos/ops/bias.h"

#include <algorithm>

namespace syrtos::ops {

// dst[n,c,p] = src[n,c,p] + bias[c]
void BiasAdd::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                        const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const int64_t plane = src.shape.elements_from(2);
  for (int64_t i = 0; i < src.shape.elements(); ++i) {
    outputs[0][i] = src[i] + inputs[1][i / plane % src.shape[1]];
  }
}

// diff_bias[c] = sum over n, p of diff_dst[n,c,p]
void BiasBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                             const Step& /*step*/) const {
  const RefTensor& diff_dst = inputs[0];
  const int64_t plane = diff_dst.shape.elements_from(2);
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), 0.0);
  for (int64_t i = 0; i < diff_dst.shape.elements(); ++i) {
    outputs[0][i / plane % diff_dst.shape[1]] += diff_dst[i];
  }
}

}  // namespace syrtos::ops
