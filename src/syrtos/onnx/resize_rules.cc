// Resize, in all forms that it has had since operator set 10.
#include "syrtos/ops/resizing.h"

#include <cmath>

#include "syrtos/onnx/importer.h"

namespace syrtos::onnx {
namespace {

template <typename Kind>
Kind word(const Call& call, std::string_view attribute, std::string_view otherwise,
          const std::map<std::string_view, Kind>& words) {
  const std::string text = call.text(attribute, otherwise);
  const auto found = words.find(text);
  if (found != words.end()) return found->second;
  call.fail("{} {} is not supported", attribute, text);
}

ops::ResizeOptions options_of(const Call& call) {
  using ops::ResizeCoordinates;
  using ops::ResizeMode;
  using ops::ResizeRounding;
  ops::ResizeOptions options;
  options.mode = word<ResizeMode>(call, "mode", "nearest",
                                  {{"nearest", ResizeMode::nearest},
                                   {"linear", ResizeMode::linear},
                                   {"cubic", ResizeMode::cubic}});
  if (call.opset() < 11) {
    options.coordinates = ResizeCoordinates::asymmetric;
    options.rounding = ResizeRounding::floor;
    return options;
  }
  options.coordinates =
      word<ResizeCoordinates>(call, "coordinate_transformation_mode", "half_pixel",
                              {{"half_pixel", ResizeCoordinates::half_pixel},
                               {"half_pixel_symmetric", ResizeCoordinates::half_pixel_symmetric},
                               {"pytorch_half_pixel", ResizeCoordinates::pytorch_half_pixel},
                               {"align_corners", ResizeCoordinates::align_corners},
                               {"asymmetric", ResizeCoordinates::asymmetric},
                               {"tf_half_pixel_for_nn", ResizeCoordinates::tf_half_pixel_for_nn}});
  options.rounding = word<ResizeRounding>(call, "nearest_mode", "round_prefer_floor",
                                          {{"round_prefer_floor", ResizeRounding::prefer_floor},
                                           {"round_prefer_ceil", ResizeRounding::prefer_ceil},
                                           {"floor", ResizeRounding::floor},
                                           {"ceil", ResizeRounding::ceil}});
  options.antialias = call.integer("antialias", 0) != 0;
  options.exclude_outside = call.integer("exclude_outside", 0) != 0;
  options.cubic_coefficient = call.number("cubic_coeff_a", -0.75F);
  return options;
}

std::vector<int> axes_of(const Call& call, int rank) {
  std::vector<int> axes;
  if (call.attribute("axes") == nullptr) {
    for (int axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  for (const int64_t axis : call.integers("axes", {})) axes.push_back(call.axis(axis, rank));
  return axes;
}

/// A size that a file asks for, before it becomes a whole number.
int64_t extent_of(const Call& call, double size, const Shape& from) {
  if (!(size >= 1 && size < (1 << 20))) {
    call.fail("expected extents from 1 to {}, found {} of {}", (1 << 20) - 1, size,
              to_string(from));
  }
  return static_cast<int64_t>(size);
}

/// One factor for all axes, the smallest or the largest, where proportions are to be kept.
void keep_proportions(const Call& call, const Shape& from, std::vector<ops::ResizedAxis>& axes) {
  const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || axes.empty()) return;
  double factor = axes[0].scale;
  for (const ops::ResizedAxis& axis : axes) {
    factor = policy == "not_larger" ? std::min(factor, axis.scale) : std::max(factor, axis.scale);
  }
  for (ops::ResizedAxis& axis : axes) {
    axis.scale = factor;
    const auto old = static_cast<double>(from[static_cast<int>(axis.axis)]);
    axis.extent = extent_of(call, std::round(factor * old), from);
  }
}

void resize(const Call& call) {
  const Shape from = call.shape(0);
  const size_t scales_at = call.opset() < 11 ? 1 : 2;
  const auto given = [&](size_t input) {
    return call.has(input) && call.numbers(input, "a size").elements() > 0;
  };
  const bool sized = call.opset() >= 11 && given(3);
  if (!sized && !given(scales_at)) call.fail("expected scales or sizes, found neither");
  const Array& wanted = call.numbers(sized ? 3 : scales_at, "a size");
  const std::vector<int> axes = axes_of(call, from.rank());
  if (wanted.elements() != static_cast<int64_t>(axes.size())) {
    call.fail("expected {} scales or sizes, found {}", axes.size(), wanted.elements());
  }
  const ValueId x = call.computed(0);
  BatchPlan* plan = sized ? call.other_batch(3) : nullptr;
  const int of_samples = plan == nullptr ? -1 : plan->axis_of(call.node(), x);
  std::vector<ops::ResizedAxis> resized;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto extent = static_cast<double>(from[axes[i]]);
    const bool same = axes[i] == of_samples &&
                      wanted.number(i) == static_cast<double>(plan->in_file(from[axes[i]]));
    const double number = same ? extent : wanted.number(i);
    ops::ResizedAxis axis{.axis = axes[i]};
    axis.scale = sized ? number / extent : number;
    axis.extent = extent_of(call, sized ? number : std::floor(extent * number + 1e-9), from);
    resized.push_back(axis);
  }
  if (sized) keep_proportions(call, from, resized);
  std::erase_if(resized, [&](const ops::ResizedAxis& axis) {
    return axis.scale == 1 && axis.extent == from[static_cast<int>(axis.axis)];
  });
  call.result(ops::resize(call.graph(), x, resized, options_of(call)));
}

}  // namespace

const Rules& resize_rules() {
  static const Rules rules = {{"Resize", resize}};
  return rules;
}

}  // namespace syrtos::onnx
