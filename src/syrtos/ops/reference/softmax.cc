#include "syrtos/ops/softmax.h"

#include <algorithm>
#include <cmath>

namespace syrtos::ops {

// softmax: exp(x[c]) / sum of exp(x); log: x[c] - log of that sum. Both relative to the largest x.
void Softmax::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                        const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  const int64_t classes = src.shape[src.shape.rank() - 1];
  for (int64_t row = 0; row < src.shape.elements() / classes; ++row) {
    double largest = src[row * classes];
    for (int64_t c = 1; c < classes; ++c) largest = std::max(largest, src[row * classes + c]);
    double sum = 0;
    for (int64_t c = 0; c < classes; ++c) sum += std::exp(src[row * classes + c] - largest);
    for (int64_t c = 0; c < classes; ++c) {
      const double x = src[row * classes + c] - largest;
      outputs[0][row * classes + c] = log ? x - std::log(sum) : std::exp(x) / sum;
    }
  }
}

// softmax: y (g - sum of g y); log: g - exp(y) * sum of g
void SoftmaxBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                const Step& /*step*/) const {
  const RefTensor& dst = inputs[0];
  const RefTensor& diff_dst = inputs[1];
  const int64_t classes = dst.shape[dst.shape.rank() - 1];
  for (int64_t row = 0; row < dst.shape.elements() / classes; ++row) {
    double sum = 0;
    for (int64_t i = row * classes; i < (row + 1) * classes; ++i) {
      sum += log ? diff_dst[i] : diff_dst[i] * dst[i];
    }
    for (int64_t i = row * classes; i < (row + 1) * classes; ++i) {
      outputs[0][i] = log ? diff_dst[i] - std::exp(dst[i]) * sum : dst[i] * (diff_dst[i] - sum);
    }
  }
}

}  // namespace syrtos::ops
