#include "syrtos/ops/concat.h"

#include "syrtos/base/error.h"
#include "syrtos/ops/slice.h"

namespace syrtos::ops {

std::string Concat::attributes() const { return fmt::format("axis {}", axis); }

// All extents but that of the axis are equal; the axis' extents add up.
std::vector<TensorType> Concat::infer(std::span<const TensorType> inputs) const {
  if (inputs.empty()) fail_shape(*this, "expected at least one input, found none");
  TensorType dst = inputs[0];
  if (axis < 0 || axis >= dst.shape.rank()) {
    fail_shape(*this, fmt::format("there is no axis {} in {}", axis, to_string(dst)));
  }
  for (const TensorType& input : inputs.subspan(1)) {
    TensorType expected = inputs[0];
    if (input.shape.rank() == expected.shape.rank()) expected.shape[axis] = input.shape[axis];
    if (!(input == expected)) {
      fail_shape(*this, fmt::format("{} and {} differ in more than axis {}", to_string(inputs[0]),
                                    to_string(input), axis));
    }
    dst.shape[axis] += input.shape[axis];
  }
  return {dst};
}

std::vector<ValueId> Concat::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                      std::span<const ValueId> /*outputs*/,
                                      std::span<const ValueId> output_gradients) const {
  std::vector<ValueId> gradients;
  int64_t position = 0;
  for (const ValueId input : inputs) {
    const Shape size = graph.type(input).shape;
    auto slice = std::make_shared<Slice>();
    slice->size = size;
    for (int i = 0; i < size.rank(); ++i) {
      slice->begin.append(i == axis ? position : 0);
      slice->stride.append(1);
    }
    position += size[axis];
    gradients.push_back(graph.add_one(slice, {output_gradients[0]}));
  }
  return gradients;
}

}  // namespace syrtos::ops
