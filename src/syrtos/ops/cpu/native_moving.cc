// Operations that move elements: concatenation, slices, padding, reshaping. All are strided copies
// between dense tensors.

#include <algorithm>
#include <cstring>

#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/native/strided.h"
#include "syrtos/ops/slice.h"

namespace syrtos::ops::cpu {

namespace {

using native::dense_strides;
using native::Strides;

std::byte* at(void* data, int64_t offset, size_t size) {
  return static_cast<std::byte*>(data) + offset * static_cast<int64_t>(size);
}

const std::byte* at(const void* data, int64_t offset, size_t size) {
  return static_cast<const std::byte*>(data) + offset * static_cast<int64_t>(size);
}

int64_t dot(const Shape& index, const Strides& strides) {
  int64_t sum = 0;
  for (int axis = 0; axis < index.rank(); ++axis) {
    sum += index[axis] * strides[static_cast<size_t>(axis)];
  }
  return sum;
}

Strides times(const Strides& strides, const Shape& factors, int64_t plus) {
  Strides result = strides;
  for (int axis = 0; axis < factors.rank(); ++axis) {
    result[static_cast<size_t>(axis)] *= factors[axis] + plus;
  }
  return result;
}

/// A plan in which the first input stays as it lies, and all others and the result lie like it.
template <typename Function>
KernelPlan following_plan(const KernelRequest& request, Function function) {
  KernelPlan plan = native_plan(request, std::move(function));
  const Layout layout = followed(request, 0);
  plan.input_layouts.assign(request.inputs.size(), layout);
  plan.output_layouts.assign(request.outputs.size(), layout);
  return plan;
}

KernelPlan make_concat(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto axis = static_cast<size_t>(dynamic_cast<const Concat&>(request.op).axis);
  const size_t size = size_of(request.outputs[0].dtype);
  const bool last = is_channels_last(followed(request, 0));
  const Strides to = dense_strides(request.outputs[0].shape, last);
  std::vector<Shape> shapes;
  for (const TensorType& type : request.inputs) shapes.push_back(type.shape);
  return following_plan(request, [=](const Operands& x, const Step& /*step*/) {
    int64_t offset = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      native::strided_copy(shapes[i], size, x.in(i), dense_strides(shapes[i], last),
                           at(x.out(0), offset, size), to);
      offset += shapes[i][static_cast<int>(axis)] * to[axis];
    }
  });
}

KernelPlan make_slice(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Slice&>(request.op);
  const size_t size = size_of(request.outputs[0].dtype);
  const bool last = is_channels_last(followed(request, 0));
  const Shape shape = request.outputs[0].shape;
  const Strides source = dense_strides(request.inputs[0].shape, last);
  const Strides to = dense_strides(shape, last);
  const Strides from = times(source, op.stride, 0);
  const int64_t offset = dot(op.begin, source);
  return following_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::strided_copy(shape, size, at(x.in(0), offset, size), from, x.out(0), to);
  });
}

void fill(const TensorType& type, float value, void* data) {
  const int64_t n = type.shape.elements();
  if (value == 0) {
    std::memset(data, 0, static_cast<size_t>(type.bytes()));
  } else if (type.dtype == DType::bf16) {
    std::fill_n(static_cast<BFloat16*>(data), n, BFloat16(value));
  } else if (type.dtype == DType::s32) {
    std::fill_n(static_cast<int32_t*>(data), n, static_cast<int32_t>(value));
  } else {
    std::fill_n(static_cast<float*>(data), n, value);
  }
}

KernelPlan make_pad(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Pad&>(request.op);
  const TensorType dst = request.outputs[0];
  const size_t size = size_of(dst.dtype);
  const bool last = is_channels_last(followed(request, 0));
  const Shape shape = request.inputs[0].shape;
  const Strides target = dense_strides(dst.shape, last);
  const Strides from = dense_strides(shape, last);
  const Strides to = times(target, op.between, 1);
  const int64_t offset = dot(op.before, target);
  const float value = op.value;
  return following_plan(request, [=](const Operands& x, const Step& /*step*/) {
    fill(dst, value, x.out(0));
    native::strided_copy(shape, size, x.in(0), from, at(x.out(0), offset, size), to);
  });
}

// Only where the compiler could not let the two values share their memory.
KernelPlan make_reshape(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto bytes = static_cast<size_t>(request.outputs[0].bytes());
  return plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    std::memcpy(x.out(0), x.in(0), bytes);
  });
}

KernelPlan make_constant(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Constant&>(request.op);
  const TensorType dst = request.outputs[0];
  const float value = op.value;
  return native_plan(request,
                     [=](const Operands& x, const Step& /*step*/) { fill(dst, value, x.out(0)); });
}

}  // namespace

Maker find_moving_maker(std::string_view operation) {
  if (operation == "concat") return make_concat;
  if (operation == "slice") return make_slice;
  if (operation == "pad") return make_pad;
  if (operation == "reshape") return make_reshape;
  if (operation == "constant") return make_constant;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
