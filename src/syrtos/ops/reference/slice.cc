#include "syrtos/ops/slice.h"

#include <algorithm>

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

// dst[i] = src[begin + i * stride]
void Slice::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                      const Step& /*step*/) const {
  for_each_index(size, [&](const Shape& index, int64_t position) {
    Shape from = index;
    for (int axis = 0; axis < from.rank(); ++axis) {
      from[axis] = begin[axis] + index[axis] * stride[axis];
    }
    outputs[0][position] = inputs[0][position_of(inputs[0].shape, from)];
  });
}

// dst[before + i * (between + 1)] = src[i], `value` elsewhere
void Pad::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                    const Step& /*step*/) const {
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), value);
  for_each_index(inputs[0].shape, [&](const Shape& index, int64_t position) {
    Shape to = index;
    for (int axis = 0; axis < to.rank(); ++axis) {
      to[axis] = before[axis] + index[axis] * (between[axis] + 1);
    }
    outputs[0][position_of(outputs[0].shape, to)] = inputs[0][position];
  });
}

}  // namespace syrtos::ops
