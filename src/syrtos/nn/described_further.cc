// Layers of described networks with parameters that few networks have.
#include "syrtos/base/error.h"
#include "syrtos/nn/described_layer.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/binary.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/resizing.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

namespace {

constexpr int64_t kMostChannels = 1 << 20;

ValueId parameter(const LayerPlace& p, std::string_view name, const Shape& shape, float value) {
  return p.builder.parameter_named(fmt::format("{}.{}", p.builder.owner(), name),
                                   {DType::f32, shape}, 0, Initializer::constant(value));
}

ValueId layer_norm(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape shape = p.builder.shape(p.inputs[0]);
  const int64_t axes = layer.integer("axes", 1, 1, shape.rank() - 1);
  Shape of;
  for (int64_t axis = shape.rank() - axes; axis < shape.rank(); ++axis) {
    of.append(shape[static_cast<int>(axis)]);
  }
  return ops::layer_norm(p.builder.graph(), p.inputs[0], shape.rank() - axes,
                         parameter(p, "weight", of, 1), parameter(p, "bias", of, 0),
                         layer.number("epsilon", 1e-5F));
}

ValueId group_norm(const DescribedLayer& layer, const LayerPlace& p) {
  const int64_t channels = p.builder.channels(p.inputs[0]);
  const int64_t groups = layer.integer("groups", channels, 1, kMostChannels);
  if (channels % groups != 0) {
    layer.fail(
        fmt::format("groups: expected a divisor of {} channels, found {}", channels, groups));
  }
  return ops::group_norm(p.builder.graph(), p.inputs[0], groups,
                         parameter(p, "weight", {channels}, 1), parameter(p, "bias", {channels}, 0),
                         layer.number("epsilon", 1e-5F));
}

ValueId prelu(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape shape = p.builder.shape(p.inputs[0]);
  Shape slopes{shape[1]};
  for (int axis = 2; axis < shape.rank(); ++axis) slopes.append(1);
  graph::Graph& graph = p.builder.graph();
  const ValueId slope = parameter(p, "weight", slopes, layer.number("start", 0.25F));
  return ops::binary(graph, ops::BinaryKind::prelu, p.inputs[0],
                     ops::cast(graph, slope, p.builder.type(p.inputs[0]).dtype));
}

/// x and values that are learnt, one for each of a sample's.
ValueId positions(const DescribedLayer& /*layer*/, const LayerPlace& p) {
  Shape shape = p.builder.shape(p.inputs[0]);
  shape[0] = 1;
  graph::Graph& graph = p.builder.graph();
  const ValueId learnt = parameter(p, "weight", shape, 0);
  return ops::binary(graph, ops::BinaryKind::add, p.inputs[0],
                     ops::cast(graph, learnt, p.builder.type(p.inputs[0]).dtype));
}

void require_image(const DescribedLayer& layer, const Shape& shape) {
  if (shape.rank() == 4) return;
  layer.fail(fmt::format("expected [batch, channels, height, width], found {}", shape_text(shape)));
}

ValueId conv_transpose(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape image = p.builder.shape(p.inputs[0]);
  require_image(layer, image);
  const int64_t out = layer.integer("out", 1, kMostChannels);
  const int64_t groups = layer.integer("groups", 1, 1, kMostChannels);
  if (image[1] % groups != 0 || out % groups != 0) {
    layer.fail(fmt::format("groups: expected a divisor of {} and {} channels, found {}", image[1],
                           out, groups));
  }
  const Extent padding = layer.extent("padding", 0, 0);
  ops::ConvTransposeOptions options;
  options.groups = groups;
  options.window.kernel = layer.extent("kernel", 1, 1).axis;
  options.window.stride = layer.extent("stride", 1, 1).axis;
  options.window.dilation = layer.extent("dilation", 1, 1).axis;
  options.window.pad_begin = options.window.pad_end = padding.axis;
  options.output_padding = layer.extent("output_padding", 0, 0).axis;
  const Shape kernel{image[1], out / groups, options.window.kernel[0], options.window.kernel[1]};
  const ValueId weights =
      p.builder.parameter_named(p.builder.owner() + ".weight", {p.builder.compute_type(), kernel},
                                1, Initializer::he_normal());
  graph::Graph& graph = p.builder.graph();
  const ValueId result = ops::conv_transpose(graph, p.inputs[0], weights, options);
  if (!layer.flag("bias", true)) return result;
  return graph.add_one(std::make_shared<ops::BiasAdd>(), {result, parameter(p, "bias", {out}, 0)});
}

ValueId upsample(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape image = p.builder.shape(p.inputs[0]);
  require_image(layer, image);
  const int64_t scale = layer.integer("scale", 2, 1, 64);
  const bool linear = layer.word("mode", {"nearest", "linear"}) == "linear";
  std::vector<ops::ResizedAxis> axes;
  for (const int axis : {2, 3}) {
    axes.push_back({axis, image[axis] * scale, static_cast<double>(scale)});
  }
  ops::ResizeOptions options;
  options.mode = linear ? ops::ResizeMode::linear : ops::ResizeMode::nearest;
  if (!linear) options.coordinates = ops::ResizeCoordinates::asymmetric;
  options.rounding = ops::ResizeRounding::floor;
  return ops::resize(p.builder.graph(), p.inputs[0], axes, options);
}

}  // namespace

LayerRules further_rules() {
  return {
      {"layer_norm", {.attributes = {"axes", "epsilon"}, .has_weights = true, .add = layer_norm}},
      {"group_norm", {.attributes = {"groups", "epsilon"}, .has_weights = true, .add = group_norm}},
      {"prelu", {.attributes = {"start"}, .has_weights = true, .add = prelu}},
      {"positions", {.has_weights = true, .add = positions}},
      {"conv_transpose",
       {.attributes = {"out", "kernel", "stride", "padding", "output_padding", "dilation", "groups",
                       "bias"},
        .has_weights = true,
        .add = conv_transpose}},
      {"upsample", {.attributes = {"scale", "mode"}, .add = upsample}},
  };
}

}  // namespace syrtos::nn
