#include "syrtos/ops/to_indices.h"

namespace syrtos::ops {

std::vector<TensorType> ToIndices::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  require_float(*this, inputs[0], "src");
  return {{DType::s32, inputs[0].shape}};
}

}  // namespace syrtos::ops
