#include "syrtos/ops/gather.h"

#include <algorithm>

namespace syrtos::ops {

namespace {

/// Calls body(position in src, position in dst) for every element of dst.
template <typename Body>
void for_each_pair(const Shape& src, const RefTensor& indices, int axis, Body&& body) {
  int64_t outer = 1;
  for (int i = 0; i < axis; ++i) outer *= src[i];
  const int64_t inner = src.elements_from(axis + 1);
  const int64_t count = indices.shape.elements();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < count; ++i) {
      auto row = static_cast<int64_t>(indices[i]);
      if (row < 0) row += src[axis];
      for (int64_t k = 0; k < inner; ++k) {
        body((o * src[axis] + row) * inner + k, (o * count + i) * inner + k);
      }
    }
  }
}

}  // namespace

void Gather::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                       const Step& /*step*/) const {
  for_each_pair(inputs[0].shape, inputs[1], axis,
                [&](int64_t from, int64_t to) { outputs[0][to] = inputs[0][from]; });
}

void GatherBackward::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                               const Step& /*step*/) const {
  std::fill(outputs[0].values.begin(), outputs[0].values.end(), 0.0);
  for_each_pair(src_shape, inputs[0], axis,
                [&](int64_t to, int64_t from) { outputs[0][to] += inputs[1][from]; });
}

}  // namespace syrtos::ops
