#include "syrtos/ops/pool.h"

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::ops {

namespace {

/// From the first element of a window to behind its last.
int64_t reach_of(const Window& window, size_t axis) {
  return window.dilation[axis] * (window.kernel[axis] - 1) + 1;
}

template <typename PoolOp>
std::string pool_attributes(const PoolOp& op) {
  if (op.adaptive) return fmt::format("adaptive {}x{}", op.output[0], op.output[1]);
  std::string text = op.window.to_string() + (op.count_padding ? " count_padding" : "");
  if (op.overhang != std::array<int64_t, 2>{0, 0}) {
    text += fmt::format(" overhang {}x{}", op.overhang[0], op.overhang[1]);
  }
  return text;
}

/// The shape of dst for src [N,C,spatial].
template <typename PoolOp>
Shape pool_shape(const PoolOp& op, const TensorType& src) {
  require_float(op, src, "src");
  const int axes = src.shape.rank() - 2;
  if (axes < 1 || axes > 2) {
    fail_shape(op, fmt::format("expected src [batch, channels, 1 or 2 spatial axes], found {}",
                               to_string(src)));
  }
  Shape shape{src.shape[0], src.shape[1]};
  if (!op.adaptive) {
    for (size_t i = 0; i < static_cast<size_t>(op.window.axes); ++i) {
      const int64_t padding = std::max(op.window.pad_begin[i], op.window.pad_end[i]);
      if (padding >= reach_of(op.window, i)) {
        fail_shape(op, fmt::format("padding must be smaller than the kernel, found {} for src {}",
                                   op.window.to_string(), to_string(src)));
      }
    }
    Window whole = op.window;
    for (size_t i = 0; i < whole.pad_end.size(); ++i) whole.pad_end[i] += op.overhang[i];
    for (const int64_t extent : window_output(op, whole, src)) shape.append(extent);
    return shape;
  }
  for (int axis = 0; axis < axes; ++axis) {
    const int64_t extent = op.output[static_cast<size_t>(axis)];
    if (extent < 1 || src.shape[axis + 2] < 1) {
      fail_shape(op, fmt::format("cannot pool src {} to an extent of {}", to_string(src), extent));
    }
    shape.append(extent);
  }
  return shape;
}

}  // namespace

std::array<int64_t, 2> overhang_of(const Window& window, const Shape& src) {
  std::array<int64_t, 2> overhang{0, 0};
  for (int axis = 0; axis < window.axes && axis + 2 < src.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int64_t stride = window.stride[i];
    const int64_t padded = src[axis + 2] + window.pad_begin[i] + window.pad_end[i];
    const int64_t span = padded - reach_of(window, i);
    if (span <= -stride) continue;  // not even part of a window
    int64_t outputs = (span + stride - 1) / stride + 1;
    if ((outputs - 1) * stride >= src[axis + 2] + window.pad_begin[i]) --outputs;
    overhang[i] = std::max<int64_t>(0, (outputs - 1) * stride + reach_of(window, i) - padded);
  }
  return overhang;
}

std::string_view Pool::name() const { return kind == PoolKind::max ? "max_pool" : "average_pool"; }

std::string Pool::attributes() const { return pool_attributes(*this); }

// src [N,C,spatial] -> dst [N,C,spatial'] (, position of the same shape)
std::vector<TensorType> Pool::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, 1);
  const Shape shape = pool_shape(*this, inputs[0]);
  std::vector<TensorType> types{{inputs[0].dtype, shape}};
  if (kind == PoolKind::max) types.push_back({DType::s32, shape});
  return types;
}

std::vector<ValueId> Pool::gradient(GraphBuilder& graph, std::span<const ValueId> inputs,
                                    std::span<const ValueId> outputs,
                                    std::span<const ValueId> output_gradients) const {
  auto backward = std::make_shared<PoolBackward>();
  backward->kind = kind;
  backward->window = window;
  backward->overhang = overhang;
  backward->count_padding = count_padding;
  backward->adaptive = adaptive;
  backward->output = output;
  backward->src_shape = graph.type(inputs[0]).shape;
  if (kind == PoolKind::average) return {graph.add_one(backward, {output_gradients[0]})};
  return {graph.add_one(backward, {output_gradients[0], outputs[1]})};
}

std::string_view PoolBackward::name() const {
  return kind == PoolKind::max ? "max_pool.backward" : "average_pool.backward";
}

std::string PoolBackward::attributes() const {
  return pool_attributes(*this) + " src " + to_string(src_shape);
}

// diff_dst [N,C,spatial'] (, position) -> diff_src [N,C,spatial]
std::vector<TensorType> PoolBackward::infer(std::span<const TensorType> inputs) const {
  require_inputs(*this, inputs, kind == PoolKind::max ? 2 : 1);
  const TensorType diff_src{inputs[0].dtype, src_shape};
  const Shape shape = pool_shape(*this, diff_src);
  require_type(*this, inputs[0], {inputs[0].dtype, shape}, "diff_dst");
  if (kind == PoolKind::max) require_type(*this, inputs[1], {DType::s32, shape}, "position");
  return {diff_src};
}

}  // namespace syrtos::ops
