#include "syrtos/ops/dropout.h"

#include "syrtos/base/dropout_mask.h"

namespace syrtos::ops {

namespace {

/// dst[sample, element] = factor(sample, element) * src[sample, element], where samples count
/// within the global batch and elements in the order in which activations lie (channels last).
void apply_mask(float rate, uint32_t layer, const Step& step, const RefTensor& src,
                RefTensor& dst) {
  const DropoutStream stream{step.seed, layer, step.step};
  const int64_t elements = src.shape.elements_from(1);
  const int64_t channels = src.shape.rank() > 1 ? src.shape[1] : 1;
  const int64_t pixels = elements / channels;
  for (int64_t i = 0; i < src.shape.elements(); ++i) {
    const int64_t channel = i % elements / pixels;
    const int64_t pixel = i % pixels;
    const float factor =
        dropout_factor(stream, rate, step.first_sample + i / elements, pixel * channels + channel);
    dst[i] = static_cast<double>(factor) * src[i];
  }
}

}  // namespace

void Dropout::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                        const Step& step) const {
  apply_mask(rate, layer, step, inputs[0], outputs[0]);
}

void DropoutBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                                const Step& step) const {
  apply_mask(rate, layer, step, inputs[0], outputs[0]);
}

}  // namespace syrtos::ops
