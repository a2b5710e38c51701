#include "syrtos/ops/axis_map.h"

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

void AxisMap::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                        const Step& /*step*/) const {
  for_each_index(outputs[0].shape, [&](const Shape& index, int64_t position) {
    const auto row = static_cast<size_t>(index[axis]);
    Shape from = index;
    double sum = 0;
    for (int32_t k = map->first[row]; k < map->first[row + 1]; ++k) {
      from[axis] = map->index[static_cast<size_t>(k)];
      sum += static_cast<double>(map->weight[static_cast<size_t>(k)]) *
             inputs[0][position_of(inputs[0].shape, from)];
    }
    outputs[0][position] = sum;
  });
}

}  // namespace syrtos::ops
