#include "syrtos/ops/slice.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/tensor/extents.h"

namespace syrtos::ops {

namespace {

void require_axes(const Op& op, const TensorType& src, const Shape& a, const Shape& b,
                  const Shape& c) {
  const int rank = src.shape.rank();
  if (a.rank() != rank || b.rank() != rank || c.rank() != rank) {
    fail_shape(op, fmt::format("expected one number for each of the {} axes of src {}, found {}",
                               rank, to_string(src), op.attributes()));
  }
}

}  // namespace

std::string Slice::attributes() const {
  return fmt::format("begin {} size {} stride {}", to_string(begin), to_string(size),
                     to_string(stride));
}

std::vector<TensorType> Slice::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  const TensorType& src = inputs[0];
  require_axes(*this, src, begin, size, stride);
  for (int i = 0; i < size.rank(); ++i) {
    const bool positive = begin[i] >= 0 && size[i] >= 1 && stride[i] >= 1;
    const bool fits = positive && begin[i] < src.shape[i] &&
                      size[i] - 1 <= (src.shape[i] - 1 - begin[i]) / stride[i];
    if (!fits) {
      fail_shape(*this, fmt::format("{} does not lie within axis {} of src {}", attributes(), i,
                                    to_string(src)));
    }
  }
  return {{src.dtype, size}};
}

// Zeros where the slice took nothing.
std::vector<ValueId> Slice::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                     std::span<const ValueId> /*outputs*/,
                                     std::span<const ValueId> output_gradients) const {
  const Shape src = graph.type(inputs[0]).shape;
  auto pad = std::make_shared<Pad>();
  for (int i = 0; i < src.rank(); ++i) {
    pad->before.append(begin[i]);
    pad->after.append(src[i] - 1 - (begin[i] + (size[i] - 1) * stride[i]));
    pad->between.append(stride[i] - 1);
  }
  return {graph.add_one(pad, {output_gradients[0]})};
}

std::string Pad::attributes() const {
  return fmt::format("before {} after {} between {}{}", to_string(before), to_string(after),
                     to_string(between), value == 0 ? "" : fmt::format(" value {}", value));
}

// Extent of an axis: before + n + (n - 1) * between + after.
std::vector<TensorType> Pad::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  const TensorType& src = inputs[0];
  require_axes(*this, src, before, after, between);
  TensorType dst = src;
  for (int i = 0; i < src.shape.rank(); ++i) {
    if (before[i] < 0 || after[i] < 0 || between[i] < 0 || src.shape[i] < 1) {
      fail_shape(*this, fmt::format("padding must not be negative, found {} for src {}",
                                    attributes(), to_string(src)));
    }
    for (const int64_t amount : {before[i], after[i], between[i]}) {
      if (amount > kMaxElements / std::max<int64_t>(src.shape[i], 1)) {
        fail_shape(*this,
                   fmt::format("{} is more than fits around src {}", attributes(), to_string(src)));
      }
    }
    dst.shape[i] = before[i] + src.shape[i] + (src.shape[i] - 1) * between[i] + after[i];
  }
  return {dst};
}

std::vector<ValueId> Pad::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                   std::span<const ValueId> /*outputs*/,
                                   std::span<const ValueId> output_gradients) const {
  auto slice = std::make_shared<Slice>();
  slice->begin = before;
  slice->size = graph.type(inputs[0]).shape;
  for (const int64_t zeros : between) slice->stride.append(zeros + 1);
  return {graph.add_one(slice, {output_gradients[0]})};
}

}  // namespace syrtos::ops
