#include "syrtos/nn/model.h"

#include <map>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn {
namespace {

// Far above anything that fits in memory; keeps products of extents within 64 bits.
constexpr int64_t kMaxSide = 1 << 14;
constexpr int64_t kMaxChannels = 1 << 12;
constexpr int64_t kMaxClasses = 1 << 24;
constexpr int64_t kMaxBatch = 1 << 20;

const zoo::Network& find_network(std::string_view name) {
  std::vector<std::string> names;
  for (const zoo::Network& network : zoo::networks()) {
    if (network.info.name == name) return network;
    names.push_back(network.info.name);
  }
  fail_request("unknown network '{}'{}", name, suggestion(name, names));
}

void require_range(const std::string& network, std::string_view what, int64_t found, int64_t max) {
  if (found < 1 || found > max) {
    fail_request("{}: expected {} from 1 to {}, found {}: choose one in this range", network, what,
                 max, found);
  }
}

ModelOptions complete(const ModelInfo& info, ModelOptions options) {
  if (options.channels == 0) options.channels = info.channels;
  if (options.height == 0) options.height = info.height;
  if (options.width == 0) options.width = info.width;
  require_range(info.name, "a batch size", options.batch, kMaxBatch);
  require_range(info.name, "a number of classes", options.classes, kMaxClasses);
  require_range(info.name, "a number of channels", options.channels, kMaxChannels);
  require_range(info.name, "an image height", options.height, kMaxSide);
  require_range(info.name, "an image width", options.width, kMaxSide);
  if (options.dtype != DType::f32 && options.dtype != DType::bf16) {
    fail_request("{}: expected to compute in f32 or bf16, found {}", info.name,
                 to_string(options.dtype));
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing < 1)) {
    fail_request("{}: expected a label smoothing of at least 0 and below 1, found {}", info.name,
                 options.label_smoothing);
  }
  if (options.shortcut != Shortcut::projection && !info.has_shortcuts) {
    fail_request(
        "{}: expected no choice of shortcuts, found \"padded\": leave it out, or choose a "
        "network of residual blocks such as resnet34",
        info.name);
  }
  return options;
}

Model build(const zoo::Network& network, const ModelOptions& o) {
  Model model;
  model.name = network.info.name;
  graph::Graph& graph = model.graph;
  model.images = graph.add_input("images", {o.dtype, {o.batch, o.channels, o.height, o.width}});
  model.labels = graph.add_input("labels", {DType::s32, {o.batch}});

  Builder builder(graph, o.dtype, o.training);
  builder.synchronise_batch_norm(o.synchronised_batch_norm);
  const zoo::Heads heads = network.build(builder, model.images, o);
  const float smoothing = o.training ? o.label_smoothing : 0;
  model.logits = builder.to_f32(heads.logits);
  model.loss = builder.cross_entropy(model.logits, model.labels, smoothing);
  for (const zoo::SideClassifier& side : heads.sides) {
    const ValueId loss = builder.cross_entropy(side.logits, model.labels, smoothing);
    model.loss = builder.add(model.loss, builder.scale(loss, side.weight));
  }
  graph.set_output("logits", model.logits);
  graph.set_output("loss", model.loss);
  graph.set_scope("");
  model.initializers = builder.initializers();
  return model;
}

// By trying: a rule per network would be a second description of it.
int64_t smallest_side(const zoo::Network& network, ModelOptions options) {
  for (int64_t side = 1; side < 1024; ++side) {
    try {
      options.height = options.width = side;
      build(network, options);
      return side;
    } catch (const ImageTooSmall&) {
      continue;
    }
  }
  return kMaxSide;
}

std::map<std::string_view, const TensorType*> named_types(const graph::Graph& graph) {
  std::map<std::string_view, const TensorType*> types;
  for (const graph::Value& value : graph.values()) {
    if (!value.name.empty()) types[value.name] = &value.type;
  }
  return types;
}

}  // namespace

Model build_model(std::string_view name, const ModelOptions& given) {
  const zoo::Network& network = find_network(name);
  const ModelOptions options = complete(network.info, given);
  try {
    return build(network, options);
  } catch (const ImageTooSmall& reason) {
    const int64_t side = smallest_side(network, options);
    fail_request(
        "{} needs images of at least {}x{}, found {}x{} ({}): give larger images or "
        "enlarge these",
        name, side, side, options.height, options.width, reason.what());
  }
}

const std::vector<ModelInfo>& model_list() {
  static const std::vector<ModelInfo> list = [] {
    std::vector<ModelInfo> infos;
    for (const zoo::Network& network : zoo::networks()) infos.push_back(network.info);
    return infos;
  }();
  return list;
}

const ModelInfo& model_info(std::string_view name) { return find_network(name).info; }

std::optional<Shape> needs_patches(const Model& model) {
  const auto types = named_types(model.graph);
  for (const auto& [name, initializer] : model.initializers) {
    if (initializer.kind == InitKind::whitening) return patch_shape(types.at(name)->shape);
  }
  return std::nullopt;
}

void initialize_parameters(const Model& model, uint64_t seed, graph::Parameters& parameters,
                           const PatchCovariance* patches) {
  const auto types = named_types(model.graph);
  for (const auto& [name, initializer] : model.initializers) {
    const bool trained = parameters.find(name) != nullptr;
    // What no output needs has no place.
    if (!trained && parameters.find_state(name) == nullptr) continue;
    Tensor tensor({DType::f32, types.at(name)->shape});
    initialize(tensor, initializer, seed, name, patches);
    if (trained) {
      parameters.set(name, tensor);
    } else {
      parameters.set_state(name, tensor);
    }
  }
}

}  // namespace syrtos::nn
