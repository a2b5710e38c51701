// Operations that choose elements along axes: transposition, linear maps, gathering.

#include "syrtos/base/error.h"
#include "syrtos/ops/axis_map.h"
#include "syrtos/ops/cpu/native_kernel.h"
#include "syrtos/ops/gather.h"
#include "syrtos/ops/native/axis_map.h"
#include "syrtos/ops/native/gather.h"
#include "syrtos/ops/native/strided.h"
#include "syrtos/ops/to_indices.h"
#include "syrtos/ops/transpose.h"

namespace syrtos::ops::cpu {

namespace {

using dnnl::memory;
using native::Strides;
using Source = PrimitiveKernel::Source;

memory::desc describe_strided(const Shape& shape, DType dtype, const Strides& strides) {
  return {dims_of(shape), data_type(dtype),
          memory::dims(strides.begin(), strides.begin() + shape.rank())};
}

// Only where the result is not the bytes of src: a copy from permuted strides.
KernelPlan make_transpose(const std::shared_ptr<Engine>& engine, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Transpose&>(request.op);
  const TensorType& dst = request.outputs[0];
  KernelPlan plan;
  plan.input_layouts = {followed(request, 0)};
  const Layout wanted = request.output_layouts[0];
  plan.output_layouts = {is_channels_last(wanted) ? wanted : Layout::plain()};
  const Strides source =
      native::dense_strides(request.inputs[0].shape, is_channels_last(plan.input_layouts[0]));
  Strides permuted{};
  for (size_t i = 0; i < op.order.size(); ++i) {
    permuted[i] = source[static_cast<size_t>(op.order[i])];
  }
  const memory::desc from = describe_strided(dst.shape, dst.dtype, permuted);
  const memory::desc to = describe(dst, plan.output_layouts[0]);
  try {
    const dnnl::reorder::primitive_desc desc(engine->engine, from, engine->engine, to,
                                             attributes());
    plan.scratch_bytes = desc.scratchpad_desc().get_size();
    plan.kernel = make_primitive_kernel<dnnl::reorder>(
        engine, desc,
        {{DNNL_ARG_SRC, from, Source::input, 0}, {DNNL_ARG_DST, to, Source::output, 0}});
    return plan;
  } catch (const dnnl::error& error) {
    fail_primitive(request, error);
  }
}

KernelPlan make_axis_map(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const AxisMap&>(request.op);
  const Shape src = request.inputs[0].shape;
  const DType dtype = request.inputs[0].dtype;
  const Layout layout = followed(request, 0);
  // In memory the axis stands between those with larger strides and those with smaller ones.
  const Strides strides = native::dense_strides(src, is_channels_last(layout));
  native::AxisMapProblem problem;
  problem.inner = strides[static_cast<size_t>(op.axis)];
  problem.columns = op.map->columns;
  problem.rows = op.map->rows();
  problem.outer = src.elements() / (problem.inner * problem.columns);
  problem.first = op.map->first.data();
  problem.index = op.map->index.data();
  problem.weight = op.map->weight.data();
  KernelPlan plan =
      native_plan(request, [=, keep = op.map](const Operands& x, const Step& /*step*/) {
        native::axis_map(problem, dtype, x.in(0), x.out(0));
      });
  plan.input_layouts = {layout};
  plan.output_layouts = {layout};
  return plan;
}

native::GatherShape gather_shape(const Shape& src, int axis, const Shape& indices) {
  native::GatherShape shape;
  for (int i = 0; i < axis; ++i) shape.outer *= src[i];
  shape.rows = src[axis];
  shape.count = indices.elements();
  shape.inner = src.elements_from(axis + 1);
  return shape;
}

void check_indices(const native::GatherShape& shape, const int32_t* indices) {
  const int64_t bad = native::find_bad_index(shape, indices);
  if (bad < 0) return;
  fail_run("index {} (the {}th) is out of range: expected {} to {}; check the data", indices[bad],
           bad + 1, -shape.rows, shape.rows - 1);
}

KernelPlan make_gather(const std::shared_ptr<Engine>& /*engine*/, const KernelRequest& request) {
  const auto& op = dynamic_cast<const Gather&>(request.op);
  const DType dtype = request.inputs[0].dtype;
  const auto shape = gather_shape(request.inputs[0].shape, op.axis, request.inputs[1].shape);
  return plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    check_indices(shape, x.in<int32_t>(1));
    native::gather(shape, dtype, x.in(0), x.in<int32_t>(1), x.out(0));
  });
}

KernelPlan make_gather_backward(const std::shared_ptr<Engine>& /*engine*/,
                                const KernelRequest& request) {
  const auto& op = dynamic_cast<const GatherBackward&>(request.op);
  const DType dtype = request.inputs[1].dtype;
  const auto shape = gather_shape(op.src_shape, op.axis, request.inputs[0].shape);
  return plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::gather_backward(shape, dtype, x.in<int32_t>(0), x.in(1), x.out<float>(0));
  });
}

KernelPlan make_to_indices(const std::shared_ptr<Engine>& /*engine*/,
                           const KernelRequest& request) {
  const DType dtype = request.inputs[0].dtype;
  const int64_t count = request.inputs[0].shape.elements();
  return plain_plan(request, [=](const Operands& x, const Step& /*step*/) {
    native::to_indices(dtype, count, x.in(0), x.out<int32_t>(0));
  });
}

}  // namespace

Maker find_mapping_maker(std::string_view operation) {
  if (operation == "transpose") return make_transpose;
  if (operation == "axis_map") return make_axis_map;
  if (operation == "gather") return make_gather;
  if (operation == "gather.backward") return make_gather_backward;
  if (operation == "to_indices") return make_to_indices;
  return nullptr;
}

}  // namespace syrtos::ops::cpu
