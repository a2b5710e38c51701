// The builder's layers that look at neighbourhoods without parameters: pooling and local response
// norm; and how all windows are laid over an image.
#include "syrtos/nn/builder.h"
#include "syrtos/ops/lrn.h"
#include "syrtos/ops/reshape.h"

namespace syrtos::nn {

ops::Window Builder::window(ValueId x, const Extent& kernel, const Extent& stride,
                            const Extent& dilation, const Padding& padding, bool ceil,
                            std::string_view what) const {
  const Shape& from = shape(x);
  if (from.rank() != 3 && from.rank() != 4) {
    fail_request(
        "{}: expected [batch, channels, width] or [batch, channels, height, width] for a "
        "{}, found {}",
        layer_, what, to_string(from));
  }
  ops::Window window;
  window.axes = from.rank() - 2;
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto a = static_cast<size_t>(axis);
    window.kernel[a] = kernel.axis[a];
    window.stride[a] = stride.axis[a];
    window.dilation[a] = dilation.axis[a];
    window.pad_begin[a] = window.pad_end[a] = padding.amount.axis[a];
  }
  if (padding.kind == Padding::Kind::same) {
    window.pad_same(std::span<const int64_t>(from.begin() + 2, from.end()));
  }
  const auto overhang = ceil ? ops::overhang_of(window, from) : std::array<int64_t, 2>{0, 0};
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto a = static_cast<size_t>(axis);
    const int64_t reach = window.dilation[a] * (window.kernel[a] - 1) + 1;
    const int64_t room = from[axis + 2] + window.pad_begin[a] + window.pad_end[a] + overhang[a];
    if (reach > room) {
      throw ImageTooSmall(fmt::format("{}: a {} reaches over {} pixels, found {} of {}", layer_,
                                      what, reach, room, to_string(from)));
    }
  }
  return window;
}

ValueId Builder::pool(ValueId x, ops::PoolKind kind, const PoolOptions& options,
                      std::string_view name) {
  enter(name);
  auto op = std::make_shared<ops::Pool>();
  op->kind = kind;
  op->window =
      window(x, options.kernel, options.stride, 1, options.padding, options.ceil, "pooling");
  if (options.ceil) op->overhang = ops::overhang_of(op->window, shape(x));
  return made_of({x}, graph_.add_one(std::move(op), {x}));
}

ValueId Builder::max_pool(ValueId x, const PoolOptions& options) {
  return pool(x, ops::PoolKind::max, options, "maxpool");
}

ValueId Builder::avg_pool(ValueId x, const PoolOptions& options) {
  return pool(x, ops::PoolKind::average, options, "avgpool");
}

ValueId Builder::adaptive_avg_pool(ValueId x, Extent output) {
  enter("avgpool");
  auto op = std::make_shared<ops::Pool>();
  op->kind = ops::PoolKind::average;
  op->adaptive = true;
  op->window.axes = shape(x).rank() - 2;
  op->output = output.axis;
  return made_of({x}, graph_.add_one(std::move(op), {x}));
}

ValueId Builder::global_avg_pool(ValueId x) { return flatten(adaptive_avg_pool(x, 1)); }

ValueId Builder::lrn(ValueId x, int64_t size, float alpha, float beta, float k) {
  enter("lrn");
  need_one_network("lrn");
  auto op = std::make_shared<ops::LocalResponseNorm>();
  op->size = size;
  op->alpha = alpha;
  op->beta = beta;
  op->k = k;
  return graph_.add_one(std::move(op), {x});
}

}  // namespace syrtos::nn
