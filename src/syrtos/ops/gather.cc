#include "syrtos/ops/gather.h"

#include <fmt/format.h>

namespace syrtos::ops {

namespace {

Shape gathered_shape(const Op& op, const Shape& src, const TensorType& indices, int axis) {
  if (axis < 0 || axis >= src.rank()) {
    fail_shape(op, fmt::format("there is no axis {} in {}", axis, to_string(src)));
  }
  if (indices.dtype != DType::s32) {
    fail_shape(op, fmt::format("expected indices in s32, found {}", to_string(indices)));
  }
  if (src.rank() + indices.shape.rank() - 1 > Shape::kMaxRank) {
    fail_shape(op, fmt::format("src {} and indices {} give more than {} axes", to_string(src),
                               to_string(indices), Shape::kMaxRank));
  }
  Shape dst;
  for (int i = 0; i < axis; ++i) dst.append(src[i]);
  for (const int64_t extent : indices.shape) dst.append(extent);
  for (int i = axis + 1; i < src.rank(); ++i) dst.append(src[i]);
  return dst;
}

}  // namespace

std::string Gather::attributes() const { return fmt::format("axis {}", axis); }

std::vector<TensorType> Gather::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[0], "src");
  return {{inputs[0].dtype, gathered_shape(*this, inputs[0].shape, inputs[1], axis)}};
}

std::vector<ValueId> Gather::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                      std::span<const ValueId> /*outputs*/,
                                      std::span<const ValueId> output_gradients) const {
  const Shape src = graph.type(inputs[0]).shape;
  return {
      graph.add_one(std::make_shared<GatherBackward>(axis, src), {inputs[1], output_gradients[0]}),
      kNone};
}

std::string GatherBackward::attributes() const {
  return fmt::format("axis {} src {}", axis, to_string(src_shape));
}

std::vector<TensorType> GatherBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 2);
  require_float(*this, inputs[1], "diff_dst");
  require_type(*this, inputs[1],
               {inputs[1].dtype, gathered_shape(*this, src_shape, inputs[0], axis)}, "diff_dst");
  return {{DType::f32, src_shape}};
}

}  // namespace syrtos::ops
