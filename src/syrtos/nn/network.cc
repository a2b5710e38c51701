#include "syrtos/nn/network.h"

#include <set>

#include "syrtos/base/error.h"

namespace syrtos::nn {
namespace {

// Far above anything that fits in memory; keeps products of extents within 64 bits.
constexpr int64_t kMaxSide = 1 << 14;
constexpr int64_t kMaxChannels = 1 << 12;
constexpr int64_t kMaxClasses = 1 << 24;
constexpr int64_t kMaxBatch = 1 << 20;

void require_range(const std::string& network, std::string_view what, int64_t found, int64_t max) {
  if (found < 1 || found > max) {
    fail_request("{}: expected {} from 1 to {}, found {}: choose one in this range", network, what,
                 max, found);
  }
}

/// Without a learning rate and without decay, and so without a gradient.
void freeze(graph::Graph& graph, const std::vector<std::string>& names) {
  if (names.empty()) return;
  const std::set<std::string_view> frozen(names.begin(), names.end());
  for (const graph::ValueId id : graph.values_of(graph::ValueKind::parameter)) {
    if (frozen.contains(graph.value(id).name)) graph.freeze(id);
  }
}

/// Outputs of any shape as [N,outputs].
ValueId as_rows(Builder& builder, ValueId outputs, const std::string& network, int64_t wanted) {
  const Shape shape = builder.shape(outputs);
  const int64_t found = shape.elements() / shape[0];
  if (found != wanted) {
    fail_request("{}: expected {} outputs, one for each class or value of the data, found {} ({})",
                 network, wanted, found, to_string(shape));
  }
  return shape.rank() == 2 ? outputs : builder.flatten(outputs);
}

}  // namespace

std::string to_string(const NetworkReference& reference) {
  std::string text = reference.name;
  char before = ':';
  for (const auto& [key, value] : reference.choices) {
    text += fmt::format("{}{}={}", before, key, value);
    before = ',';
  }
  return text;
}

NetworkReference parse_network_reference(std::string_view text) {
  const size_t colon = text.find(':');
  NetworkReference reference{std::string(text.substr(0, colon))};
  std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  bool valid = !reference.name.empty() && (colon == std::string_view::npos || !rest.empty());
  while (valid && !rest.empty()) {
    const std::string_view choice = rest.substr(0, rest.find(','));
    const size_t equals = choice.find('=');
    valid = equals != std::string_view::npos && equals > 0 && equals + 1 < choice.size();
    if (!valid) break;
    reference.choices.emplace(choice.substr(0, equals), choice.substr(equals + 1));
    rest.remove_prefix(std::min(rest.size(), choice.size() + 1));
  }
  if (valid) return reference;
  fail_request(
      "network: expected a name such as resnet34, or with a choice such as "
      "resnet34:shortcut=padded, found '{}'",
      text);
}

int64_t Network::numbers_below(int64_t classes) const {
  return info_.numbers == NetworkInfo::Numbers::below_classes ? classes
         : info_.numbers == NetworkInfo::Numbers::below       ? info_.below
                                                              : 0;
}

ModelOptions Network::default_options() const {
  return {.classes = info_.classes,
          .channels = info_.channels,
          .height = info_.height,
          .width = info_.width};
}

ModelOptions Network::complete(ModelOptions options) const {
  if (options.channels == 0) options.channels = info_.channels;
  if (options.height == 0) options.height = info_.height;
  if (options.width == 0) options.width = info_.width;
  require_range(name(), "a batch size", options.batch, kMaxBatch);
  require_range(name(), "a number of classes", options.classes, kMaxClasses);
  require_range(name(), "a number of channels", options.channels, kMaxChannels);
  require_range(name(), "an image height", options.height, kMaxSide);
  require_range(name(), "an image width", options.width, kMaxSide);
  if (options.dtype != DType::f32 && options.dtype != DType::bf16) {
    fail_request("{}: expected to compute in f32 or bf16, found {}", name(),
                 to_string(options.dtype));
  }
  const double smoothing = options.task.label_smoothing;
  if (!(smoothing >= 0 && smoothing < 1)) {
    fail_request("{}: expected a label smoothing of at least 0 and below 1, found {}", name(),
                 smoothing);
  }
  return options;
}

Model Network::build_complete(const ModelOptions& o) const {
  Model model;
  model.name = name();
  graph::Graph& graph = model.graph;
  model.images = graph.add_input("images", {o.dtype, {o.batch, o.channels, o.height, o.width}});
  model.targets = add_targets(graph, o.task, o.batch, o.classes);

  Builder builder(graph, o.dtype, o.training);
  builder.synchronise_batch_norm(o.synchronised_batch_norm);
  const Heads heads = layers_(builder, model.images, o);
  model.logits = builder.to_f32(as_rows(builder, heads.logits, name(), o.classes));
  if (heads.weight != 0) {
    model.loss = add_loss(builder, o.task, model.logits, model.targets, o.training);
    if (heads.weight != 1) model.loss = builder.scale(model.loss, heads.weight);
  }
  for (const SideClassifier& side : heads.sides) {
    const ValueId loss =
        side.labels == graph::kNone
            ? add_loss(builder, o.task, side.logits, model.targets, o.training)
            : builder.cross_entropy(side.logits, side.labels,
                                    o.training ? static_cast<float>(o.task.label_smoothing) : 0);
    const ValueId weighted = side.weight == 1 ? loss : builder.scale(loss, side.weight);
    model.loss = model.loss == graph::kNone ? weighted : builder.add(model.loss, weighted);
  }
  graph.set_output("logits", model.logits);
  graph.set_output("loss", heads.members == 1
                               ? model.loss
                               : builder.scale(model.loss, 1 / static_cast<float>(heads.members)));
  graph.set_scope("");
  model.initializers = builder.initializers();
  freeze(graph, o.frozen);
  return model;
}

// By trying: a rule per network would be a second description of it.
int64_t Network::smallest_side(ModelOptions options) const {
  for (int64_t side = 1; side < 1024; ++side) {
    try {
      options.height = options.width = side;
      build_complete(options);
      return side;
    } catch (const ImageTooSmall&) {
      continue;
    } catch (const RequestError&) {
      return side;  // its windows fit; what else is wrong with this size is not its smallness
    }
  }
  return kMaxSide;
}

Model Network::build(const ModelOptions& given) const {
  const ModelOptions options = complete(given);
  try {
    return build_complete(options);
  } catch (const ImageTooSmall& reason) {
    const int64_t side = smallest_side(options);
    fail_request("{} needs images of at least {}x{}, found {}x{} ({}): {}", name(), side, side,
                 options.height, options.width, reason.what(),
                 options.height == 1
                     ? "of signals and tables take signal-cnn or mlp"
                     : fmt::format("--input {} scales pictures, or give larger ones", side));
  }
}

}  // namespace syrtos::nn
