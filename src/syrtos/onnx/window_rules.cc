// Convolutions and poolings.
#include <algorithm>

#include "syrtos/onnx/importer.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/conv.h"
#include "syrtos/ops/pool.h"

namespace syrtos::onnx {
namespace {

void require_image(const Call& call, const Shape& shape) {
  if (shape.rank() == 3 || shape.rank() == 4) return;
  call.fail(
      "expected [batch, channels, width] or [batch, channels, height, width], found {}: other "
      "numbers of spatial axes are not supported",
      to_string(shape));
}

std::vector<int64_t> per_axis(const Call& call, std::string_view name, int axes, int64_t otherwise,
                              int64_t least, int times = 1) {
  const size_t count = static_cast<size_t>(axes) * static_cast<size_t>(times);
  std::vector<int64_t> values = call.integers(name, std::vector<int64_t>(count, otherwise));
  constexpr int64_t kMost = 1 << 20;
  if (values.size() != count || std::any_of(values.begin(), values.end(), [&](int64_t value) {
        return value < least || value > kMost;
      })) {
    call.fail("expected {} numbers of {} or more as {}, found {}", count, least, name,
              values.size() == count ? "smaller or absurd ones" : fmt::format("{}", values.size()));
  }
  return values;
}

/// The odd one of the zeros that keep ceil(input / stride) outputs goes to the end, or (lower) to
/// the beginning.
void pad_same(ops::Window& window, const Shape& image, bool lower) {
  window.pad_same(std::span<const int64_t>(image.begin() + 2, image.end()));
  if (lower) std::swap(window.pad_begin, window.pad_end);
}

void require_fit(const Call& call, const ops::Window& window, const Shape& image,
                 const std::array<int64_t, 2>& overhang = {0, 0}) {
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto a = static_cast<size_t>(axis);
    const int64_t reach = window.dilation[a] * (window.kernel[a] - 1) + 1;
    const int64_t room = image[axis + 2] + window.pad_begin[a] + window.pad_end[a] + overhang[a];
    if (reach <= room) continue;
    throw nn::ImageTooSmall(fmt::format("{}: a window reaches over {} pixels, found {} of {}",
                                        call.node().name, reach, room, to_string(image)));
  }
}

ops::Window window_of(const Call& call, const Shape& image, const std::vector<int64_t>& kernel) {
  require_image(call, image);
  ops::Window window;
  window.axes = image.rank() - 2;
  const std::vector<int64_t> strides = per_axis(call, "strides", window.axes, 1, 1);
  const std::vector<int64_t> dilations = per_axis(call, "dilations", window.axes, 1, 1);
  const std::vector<int64_t> pads = per_axis(call, "pads", window.axes, 0, 0, 2);
  for (int axis = 0; axis < window.axes; ++axis) {
    const auto a = static_cast<size_t>(axis);
    window.kernel[a] = kernel[a];
    window.stride[a] = strides[a];
    window.dilation[a] = dilations[a];
    window.pad_begin[a] = pads[a];
    window.pad_end[a] = pads[a + static_cast<size_t>(window.axes)];
  }
  const std::string automatic = call.text("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    pad_same(window, image, automatic == "SAME_LOWER");
  } else if (automatic == "VALID") {
    window.pad_begin = window.pad_end = {0, 0};
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    call.fail("expected auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER, found {}", automatic);
  }
  return window;
}

void conv(const Call& call) {
  const ValueId x = call.computed(0);
  const Shape image = call.shape(0);
  const Shape weight = call.shape(1);
  require_image(call, image);
  if (weight.rank() != image.rank()) {
    call.fail("expected a kernel of {} axes for images {}, found {}", image.rank(),
              to_string(image), to_string(weight));
  }
  auto op = std::make_shared<ops::Conv>();
  op->window = window_of(call, image, std::vector<int64_t>(weight.begin() + 2, weight.end()));
  require_fit(call, op->window, image);
  op->groups = call.integer("group", 1);
  if (op->groups < 1 || weight[1] * op->groups != image[1] || weight[0] % op->groups != 0) {
    call.fail("expected a kernel [outputs, {} / groups, ...] for images {}, found {} in {} groups",
              image[1], to_string(image), to_string(weight), op->groups);
  }
  ValueId result = call.add(std::move(op), {x, call.computed(1, Role::conv_kernel)});
  if (call.has(2)) {
    result = call.add(std::make_shared<ops::BiasAdd>(), {result, call.tensor(2, Role::bias)});
  }
  call.result(result);
}

void pool(const Call& call, ops::PoolKind kind) {
  const ValueId x = call.computed(0);
  const Shape image = call.shape(0);
  require_image(call, image);
  auto op = std::make_shared<ops::Pool>();
  op->kind = kind;
  op->window = window_of(call, image, per_axis(call, "kernel_shape", image.rank() - 2, 0, 1));
  op->count_padding = call.integer("count_include_pad", 0) != 0;
  if (call.integer("ceil_mode", 0) != 0) op->overhang = ops::overhang_of(op->window, image);
  require_fit(call, op->window, image, op->overhang);
  call.result(call.add(std::move(op), {x}));
}

void max_pool(const Call& call) { pool(call, ops::PoolKind::max); }
void average_pool(const Call& call) { pool(call, ops::PoolKind::average); }

template <ops::PoolKind kind>
void global_pool(const Call& call) {
  call.result(ops::global_pool(call.graph(), call.computed(0), kind));
}

/// How much is cut off both ends, where the node says how large the result is to be.
void pad_to_output(const Call& call, const Shape& image, ops::ConvTransposeOptions& options) {
  const std::string automatic = call.text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME");
  ops::Window& window = options.window;
  const std::vector<int64_t> wanted = call.integers("output_shape", {});
  if (wanted.empty() && !same) return;
  const auto axes = static_cast<size_t>(window.axes);
  if (!wanted.empty() && wanted.size() < axes) call.fail("expected an extent for each axis");
  for (const int64_t extent : wanted) {
    if (extent < 1 || extent > (1 << 20))
      call.fail("expected extents of 1 or more, found {}", extent);
  }
  for (size_t a = 0; a < axes; ++a) {
    const int64_t input = image[static_cast<int>(a) + 2];
    const int64_t output =
        wanted.empty() ? input * window.stride[a] : wanted[wanted.size() - axes + a];
    const int64_t total = window.stride[a] * (input - 1) + options.output_padding[a] +
                          window.dilation[a] * (window.kernel[a] - 1) + 1 - output;
    if (total < 0) {  // more than the windows cover
      window.pad_begin[a] = window.pad_end[a] = 0;
      options.output_padding[a] -= total;
      continue;
    }
    const int64_t smaller = total / 2;
    window.pad_begin[a] = automatic == "SAME_UPPER" ? smaller : total - smaller;
    window.pad_end[a] = total - window.pad_begin[a];
  }
}

void conv_transpose(const Call& call) {
  const Shape image = call.shape(0);
  const Shape weight = call.shape(1);
  require_image(call, image);
  if (weight.rank() != image.rank()) {
    call.fail("expected a kernel of {} axes for images {}, found {}", image.rank(),
              to_string(image), to_string(weight));
  }
  ops::ConvTransposeOptions options;
  options.window = window_of(call, image, std::vector<int64_t>(weight.begin() + 2, weight.end()));
  options.groups = call.integer("group", 1);
  const std::vector<int64_t> more = per_axis(call, "output_padding", image.rank() - 2, 0, 0);
  std::copy(more.begin(), more.end(), options.output_padding.begin());
  pad_to_output(call, image, options);
  ValueId result = ops::conv_transpose(call.graph(), call.computed(0),
                                       call.computed(1, Role::conv_kernel), options);
  if (call.has(2)) {
    result = call.add(std::make_shared<ops::BiasAdd>(), {result, call.tensor(2, Role::bias)});
  }
  call.result(result);
}

}  // namespace

const Rules& window_rules() {
  static const Rules rules = {
      {"Conv", conv},
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"ConvTranspose", conv_transpose},
      {"GlobalMaxPool", global_pool<ops::PoolKind::max>},
      {"GlobalAveragePool", global_pool<ops::PoolKind::average>},
  };
  return rules;
}

}  // namespace syrtos::onnx
