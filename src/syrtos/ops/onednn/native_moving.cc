// Operations that move or repeat elements: concatenation, slices, padding, reshaping, general
// reductions. All are strided copies between dense tensors.

#include <algorithm>
#include <cstring>

#include "syrtos/base/parallel.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/concat.h"
#include "syrtos/ops/native/strided.h"
#include "syrtos/ops/onednn/native_kernel.h"
#include "syrtos/ops/reduce.h"
#include "syrtos/ops/slice.h"

namespace syrtos::ops::onednn {

namespace {

using native::dense_strides;
using native::Strides;

std::byte* at(void* data, int64_t offset, DType dtype) {
  return static_cast<std::byte*>(data) + offset * static_cast<int64_t>(size_of(dtype));
}

const std::byte* at(const void* data, int64_t offset, DType dtype) {
  return static_cast<const std::byte*>(data) + offset * static_cast<int64_t>(size_of(dtype));
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

KernelPlan make_concat(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto axis = static_cast<size_t>(dynamic_cast<const Concat&>(request.op).axis);
  const DType dtype = request.outputs[0].dtype;
  const Strides to = dense_strides(request.outputs[0].shape, true);
  std::vector<Shape> shapes;
  for (const TensorType& type : request.inputs) shapes.push_back(type.shape);
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    int64_t offset = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      native::strided_copy(shapes[i], size_of(dtype), x.in(i), dense_strides(shapes[i], true),
                           at(x.out(0), offset, dtype), to);
      offset += shapes[i][static_cast<int>(axis)] * to[axis];
    }
  });
}

KernelPlan make_slice(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Slice&>(request.op);
  const DType dtype = request.outputs[0].dtype;
  const Shape shape = request.outputs[0].shape;
  const Strides source = dense_strides(request.inputs[0].shape, true);
  const Strides to = dense_strides(shape, true);
  const Strides from = times(source, op.stride, 0);
  const int64_t offset = dot(op.begin, source);
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::strided_copy(shape, size_of(dtype), at(x.in(0), offset, dtype), from, x.out(0), to);
  });
}

KernelPlan make_pad(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Pad&>(request.op);
  const TensorType dst = request.outputs[0];
  const Shape shape = request.inputs[0].shape;
  const Strides target = dense_strides(dst.shape, true);
  const Strides from = dense_strides(shape, true);
  const Strides to = times(target, op.between, 1);
  const int64_t offset = dot(op.before, target);
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    std::memset(x.out(0), 0, static_cast<size_t>(dst.bytes()));
    native::strided_copy(shape, size_of(dst.dtype), x.in(0), from, at(x.out(0), offset, dst.dtype),
                         to);
  });
}

// Only where the compiler could not let the two values share their memory.
KernelPlan make_reshape(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto bytes = static_cast<size_t>(request.outputs[0].bytes());
  KernelPlan plan = native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    std::memcpy(x.out(0), x.in(0), bytes);
  });
  plan.input_layouts = {Layout::plain()};
  plan.output_layouts = {Layout::plain()};
  return plan;
}

// Strides of the small operand of a reduction or a broadcast along the axes of the large one.
Strides strides_without(const Shape& small, const Shape& large, const std::vector<int>& axes) {
  const bool scalar = static_cast<int>(axes.size()) == large.rank();
  const Strides dense = dense_strides(small, true);
  Strides strides{};
  size_t next = 0;
  for (int axis = 0; axis < large.rank(); ++axis) {
    const bool gone = std::find(axes.begin(), axes.end(), axis) != axes.end();
    if (!gone && !scalar) strides[static_cast<size_t>(axis)] = dense[next++];
  }
  return strides;
}

KernelPlan make_reduce(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Reduce&>(request.op);
  const TensorType src = request.inputs[0];
  const Strides from = dense_strides(src.shape, true);
  const Strides to = strides_without(request.outputs[0].shape, src.shape, op.axes);
  const double count = static_cast<double>(src.shape.elements()) /
                       static_cast<double>(request.outputs[0].shape.elements());
  const float scale = op.mean ? static_cast<float>(1.0 / count) : 1.0F;
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::strided_reduce(src.shape, src.dtype, x.in(0), from, x.out(0), to, scale);
  });
}

KernelPlan make_broadcast(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Broadcast&>(request.op);
  const TensorType dst = request.outputs[0];
  const Strides from = strides_without(request.inputs[0].shape, dst.shape, op.axes);
  const Strides to = dense_strides(dst.shape, true);
  const float factor = op.factor;
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::strided_broadcast(dst.shape, dst.dtype, x.in(0), from, x.out(0), to, factor);
  });
}

KernelPlan make_constant(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Constant&>(request.op);
  const TensorType dst = request.outputs[0];
  const float value = op.value;
  return native_plan(request, [=](const Operands& x, const Step& /*step*/) {
    const int64_t n = dst.shape.elements();
    if (dst.dtype == DType::bf16) {
      std::fill_n(x.out<BFloat16>(0), n, BFloat16(value));
    } else {
      std::fill_n(x.out<float>(0), n, value);
    }
  });
}

}  // namespace

Maker find_moving_maker(std::string_view operation) {
  if (operation == "concat") return make_concat;
  if (operation == "slice") return make_slice;
  if (operation == "pad") return make_pad;
  if (operation == "reshape") return make_reshape;
  if (operation == "reduce_sum" || operation == "reduce_mean") return make_reduce;
  if (operation == "broadcast") return make_broadcast;
  if (operation == "constant") return make_constant;
  return nullptr;
}

}  // namespace syrtos::ops::onednn
