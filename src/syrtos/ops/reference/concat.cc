#include "syrtos/ops/concat.h"

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

// dst[..., offset of input k + i, ...] = input k [..., i, ...]
void Concat::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                       const Step& /*step*/) const {
  int64_t offset = 0;
  for (const RefTensor& input : inputs) {
    for_each_index(input.shape, [&](const Shape& index, int64_t position) {
      Shape target = index;
      target[axis] += offset;
      outputs[0][position_of(outputs[0].shape, target)] = input[position];
    });
    offset += input.shape[axis];
  }
}

}  // namespace syrtos::ops
