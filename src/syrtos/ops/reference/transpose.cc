#include "syrtos/ops/transpose.h"

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

// dst[i...] = src[j...] with j[order[a]] = i[a]
void Transpose::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  for_each_index(outputs[0].shape, [&](const Shape& index, int64_t position) {
    Shape from = index;
    for (int axis = 0; axis < index.rank(); ++axis) {
      from[order[static_cast<size_t>(axis)]] = index[axis];
    }
    outputs[0][position] = inputs[0][position_of(inputs[0].shape, from)];
  });
}

}  // namespace syrtos::ops
