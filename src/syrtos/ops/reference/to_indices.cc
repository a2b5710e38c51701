#include "syrtos/ops/to_indices.h"

#include <cmath>

namespace syrtos::ops {

void ToIndices::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  for (int64_t i = 0; i < inputs[0].shape.elements(); ++i) {
    outputs[0][i] = std::nearbyint(inputs[0][i]);
  }
}

}  // namespace syrtos::ops
