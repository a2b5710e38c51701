// What each kind of layer of a described network is made of.
#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/nn/described_layer.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

namespace {

constexpr int64_t kMostChannelsOfLayer = 1 << 20;

ValueId conv(const DescribedLayer& layer, const LayerPlace& p) {
  const int64_t out = layer.integer("out", 1, kMostChannelsOfLayer);
  return p.builder.conv(layer.name(), p.inputs[0],
                        {.out = out,
                         .kernel = layer.extent("kernel", 1, 1),
                         .stride = layer.extent("stride", 1, 1),
                         .padding = layer.padding(),
                         .dilation = layer.extent("dilation", 1, 1),
                         .groups = layer.integer("groups", 1, 1, kMostChannelsOfLayer),
                         .bias = layer.flag("bias", true)});
}

/// [batch, tokens, features]: each token by itself.
ValueId linear_of_tokens(const DescribedLayer& layer, const LayerPlace& p, const Shape& from) {
  const int64_t units = layer.integer("out", 1, kMostChannelsOfLayer);
  graph::Graph& graph = p.builder.graph();
  const ValueId rows = ops::reshape(graph, p.inputs[0], {from[0] * from[1], from[2]});
  const ValueId result =
      p.builder.dense(layer.name(), rows, units, {.bias = layer.flag("bias", true)});
  return ops::reshape(graph, result, {from[0], from[1], units});
}

ValueId linear(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape from = p.builder.shape(p.inputs[0]);
  if (from.rank() == 3 && !p.is_output) return linear_of_tokens(layer, p, from);
  if (from.rank() != 2) {
    layer.fail(
        fmt::format("expected [batch, features], found {}: put a flatten or a pooling over "
                    "everything before it",
                    shape_text(from)));
  }
  const int64_t classes = p.options.classes;
  const int64_t units = p.is_output ? layer.integer("out", classes, 1, kMostChannelsOfLayer)
                                    : layer.integer("out", 1, kMostChannelsOfLayer);
  const bool bias = layer.flag("bias", true);
  if (!p.is_output) return p.builder.dense(layer.name(), p.inputs[0], units, {.bias = bias});
  if (units != classes) {
    layer.fail(
        fmt::format("it is the output and gives [batch, {}], expected [batch, {}]: one "
                    "value for each of the {} {} of the data",
                    units, classes, classes, p.options.task.has_classes() ? "classes" : "values"));
  }
  if (bias) return p.builder.classifier(layer.name(), p.inputs[0], units);
  return p.builder.dense(layer.name(), p.inputs[0], units, {.bias = false, .f32_output = true});
}

ValueId batch_norm(const DescribedLayer& layer, const LayerPlace& p) {
  const BatchNormOptions usual;
  return p.builder.batch_norm(layer.name(), p.inputs[0],
                              {.epsilon = layer.number("epsilon", usual.epsilon),
                               .momentum = layer.number("momentum", usual.momentum),
                               .scale = layer.flag("scale", true)});
}

template <ValueId (Builder::*kMethod)(ValueId)>
ValueId plain(const DescribedLayer& /*layer*/, const LayerPlace& p) {
  return (p.builder.*kMethod)(p.inputs[0]);
}

template <ValueId (Builder::*kMethod)(ValueId, const PoolOptions&)>
ValueId pool(const DescribedLayer& layer, const LayerPlace& p) {
  const Extent kernel = layer.extent("kernel", 2, 1);
  return (p.builder.*kMethod)(p.inputs[0], {.kernel = kernel,
                                            .stride = layer.extent("stride", kernel, 1),
                                            .padding = layer.padding(),
                                            .ceil = layer.flag("ceil", false)});
}

ValueId adaptive_avg_pool(const DescribedLayer& layer, const LayerPlace& p) {
  return p.builder.adaptive_avg_pool(p.inputs[0], layer.extent("out", 1, 1));
}

ValueId dropout(const DescribedLayer& layer, const LayerPlace& p) {
  const float rate = layer.number("rate", 0.5F);
  if (!(rate >= 0 && rate < 1)) {
    layer.fail(fmt::format("rate: expected at least 0 and below 1, found {}", rate));
  }
  return p.builder.dropout(p.inputs[0], rate);
}

ValueId lrn(const DescribedLayer& layer, const LayerPlace& p) {
  return p.builder.lrn(p.inputs[0], layer.integer("size", 5, 1, 1024), layer.number("alpha", 1e-4F),
                       layer.number("beta", 0.75F), layer.number("k", 1));
}

ValueId add_values(const DescribedLayer& layer, const LayerPlace& p) {
  ValueId sum = p.inputs[0];
  for (size_t i = 1; i < p.inputs.size(); ++i) {
    const Shape& a = p.builder.shape(sum);
    const Shape& b = p.builder.shape(p.inputs[i]);
    if (!(a == b)) {
      layer.fail(fmt::format("expected the same shape of both, found {} of {} and {} of {}",
                             shape_text(a), layer.of()[0], shape_text(b), layer.of()[i]));
    }
    sum = p.builder.add(sum, p.inputs[i]);
  }
  return sum;
}

ValueId concat(const DescribedLayer& layer, const LayerPlace& p) {
  const Shape& first = p.builder.shape(p.inputs[0]);
  const auto axis = static_cast<int>(layer.integer("axis", 1, 1, Shape::kMaxRank - 1));
  if (axis >= first.rank()) {
    layer.fail(fmt::format("axis: expected one of {}, found {}", shape_text(first), axis));
  }
  for (size_t i = 1; i < p.inputs.size(); ++i) {
    Shape other = p.builder.shape(p.inputs[i]);
    const std::string found = shape_text(other);
    if (other.rank() == first.rank()) other[axis] = first[axis];
    if (other == first) continue;
    layer.fail(
        fmt::format("expected shapes that differ in axis {} alone, found {} of {} and {} of "
                    "{}",
                    axis, shape_text(first), layer.of()[0], found, layer.of()[i]));
  }
  return p.builder.concat(p.inputs, axis);
}

ValueId scale(const DescribedLayer& layer, const LayerPlace& p) {
  return p.builder.scale(p.inputs[0], layer.number("factor", 1));
}

ValueId subsample(const DescribedLayer& layer, const LayerPlace& p) {
  return p.builder.subsample(p.inputs[0], layer.integer("stride", 1, 1 << 14));
}

ValueId pad_channels(const DescribedLayer& layer, const LayerPlace& p) {
  const int64_t have = p.builder.channels(p.inputs[0]);
  return p.builder.pad_channels(p.inputs[0], layer.integer("channels", have, kMostChannelsOfLayer));
}

}  // namespace

const LayerRules& layer_rules() {
  constexpr int kMany = 1000;
  using Words = std::vector<std::string>;
  static const Words pooling = {"kernel", "stride", "padding", "ceil"};
  static const Words window = {"out", "kernel", "stride", "padding", "dilation", "groups", "bias"};
  static const LayerRules rules = [] {
    LayerRules all = {
        {"conv", {.attributes = window, .has_weights = true, .add = conv}},
        {"linear", {.attributes = {"out", "bias"}, .has_weights = true, .add = linear}},
        {"batch_norm",
         {.attributes = {"epsilon", "momentum", "scale"}, .has_weights = true, .add = batch_norm}},
        {"relu", {.add = plain<&Builder::relu>}},
        {"sigmoid", {.add = plain<&Builder::sigmoid>}},
        {"tanh", {.add = plain<&Builder::tanh>}},
        {"gelu", {.add = plain<&Builder::gelu>}},
        {"dropout", {.attributes = {"rate"}, .add = dropout}},
        {"lrn", {.attributes = {"size", "alpha", "beta", "k"}, .add = lrn}},
        {"max_pool", {.attributes = pooling, .add = pool<&Builder::max_pool>}},
        {"avg_pool", {.attributes = pooling, .add = pool<&Builder::avg_pool>}},
        {"adaptive_avg_pool", {.attributes = {"out"}, .add = adaptive_avg_pool}},
        {"global_avg_pool", {.add = plain<&Builder::global_avg_pool>}},
        {"flatten", {.add = plain<&Builder::flatten>}},
        {"add", {.least = 2, .most = kMany, .add = add_values}},
        {"concat", {.least = 2, .most = kMany, .attributes = {"axis"}, .add = concat}},
        {"scale", {.attributes = {"factor"}, .add = scale}},
        {"subsample", {.attributes = {"stride"}, .add = subsample}},
        {"pad_channels", {.attributes = {"channels"}, .add = pad_channels}},
    };
    all.merge(function_rules());
    all.merge(further_rules());
    all.merge(sequence_rules());
    return all;
  }();
  return rules;
}

}  // namespace syrtos::nn
