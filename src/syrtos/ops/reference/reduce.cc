#include "syrtos/ops/reduce.h"

#include <algorithm>
#include <cmath>

#include "syrtos/ops/reference/index.h"

namespace syrtos::ops {

namespace {

/// Where the element at `index` of the full shape lies in the tensor without the axes.
int64_t position_without(const Shape& shape, const Shape& index, const std::vector<int>& axes) {
  int64_t position = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    position = position * shape[axis] + index[axis];
  }
  return position;
}

}  // namespace

// dst = sum of src over the axes (/ their elements), or their maximum
void Reduce::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                       const Step& /*step*/) const {
  const RefTensor& src = inputs[0];
  RefTensor& dst = outputs[0];
  const bool max = kind == ReduceKind::max;
  std::fill(dst.values.begin(), dst.values.end(), max ? -INFINITY : 0.0);
  for_each_index(src.shape, [&](const Shape& index, int64_t position) {
    double& result = dst[position_without(src.shape, index, axes)];
    result = max ? std::max(result, src[position]) : result + src[position];
  });
  if (kind != ReduceKind::mean) return;
  const double count =
      static_cast<double>(src.shape.elements()) / static_cast<double>(dst.shape.elements());
  for (double& value : dst.values) value /= count;
}

// dst[index] = factor * src[index without the axes]
void Broadcast::reference(std::span<const RefTensor> inputs, std::span<RefTensor> outputs,
                          const Step& /*step*/) const {
  for_each_index(shape, [&](const Shape& index, int64_t position) {
    outputs[0][position] =
        static_cast<double>(factor) * inputs[0][position_without(shape, index, axes)];
  });
}

}  // namespace syrtos::ops
