#include "syrtos/onnx/network.h"

#include <fmt/format.h>

#include <set>

#include "syrtos/base/error.h"
#include "syrtos/onnx/head.h"
#include "syrtos/onnx/importer.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::onnx {

namespace {

constexpr int64_t kUsualSide = 224;  // where a file leaves the size of images open

/// What a network is made of, checked once.
struct Blueprint {
  Document document;
  Head head;
};

const Port& image_port(const Document& document) {
  if (document.inputs.size() != 1) {
    std::vector<std::string> names;
    for (const Port& port : document.inputs) names.push_back(port.name);
    fail_request("{}: expected one input, the images, found {} ({})", document.name,
                 document.inputs.size(), fmt::join(names, ", "));
  }
  const Port& port = document.inputs[0];
  const size_t rank = port.shape.size();
  if (!port.has_shape || rank < 2 || rank > 4) {
    fail_request(
        "{}: expected an input '{}' of [batch, channels, height, width], [batch, channels, "
        "width] or [batch, values], found {}",
        document.name, port.name,
        port.has_shape ? fmt::format("[{}]", fmt::join(port.shape, ", ")) : "no shape");
  }
  return port;
}

/// [batch, height, width, channels], as TensorFlow has images.
bool has_channels_last(const std::vector<int64_t>& shape) {
  const auto are_channels = [](int64_t extent) { return extent == 1 || extent == 3; };
  return shape.size() == 4 && are_channels(shape[3]) && !are_channels(shape[1]);
}

int64_t or_else(int64_t extent, int64_t otherwise) { return extent > 0 ? extent : otherwise; }

/// Whether a value is the input, as it is or in another type or shape.
bool is_input(const Document& document, const std::string& value) {
  static const std::set<std::string_view> passed = {"Cast",    "Identity",  "Reshape",
                                                    "Squeeze", "Unsqueeze", "Transpose"};
  std::string name = value;
  for (auto node = document.nodes.rbegin(); node != document.nodes.rend(); ++node) {
    if (!passed.contains(node->operation) || node->inputs.empty() || node->outputs.empty())
      continue;
    if (node->outputs[0] == name) name = node->inputs[0];
  }
  return name == document.inputs[0].name;
}

/// Of a network that begins with an embedding: how many rows that has; 0 for others.
int64_t numbers_below(const Document& document) {
  for (const onnx::Node& node : document.nodes) {
    if (node.operation != "Gather" || node.inputs.size() < 2) continue;
    const auto table = document.initializers.find(node.inputs[0]);
    if (table == document.initializers.end() || table->second.shape.empty()) continue;
    if (is_input(document, node.inputs[1])) return table->second.shape[0];
  }
  return 0;
}

nn::NetworkInfo info_of(const Blueprint& blueprint, const std::string& path) {
  const Document& document = blueprint.document;
  nn::NetworkInfo info{.name = std::filesystem::path(path).filename().string()};
  info.description =
      fmt::format("{} nodes, operator set {}", document.nodes.size(), document.opset);
  info.source = document.producer.empty() ? "ONNX" : fmt::format("ONNX, {}", document.producer);
  const std::vector<int64_t>& shape = image_port(document).shape;
  if (has_channels_last(shape)) {
    info.channels = shape[3];
    info.height = or_else(shape[1], kUsualSide);
    info.width = or_else(shape[2], kUsualSide);
  } else if (shape.size() == 4) {
    info.channels = or_else(shape[1], 3);
    info.height = or_else(shape[2], kUsualSide);
    info.width = or_else(shape[3], kUsualSide);
  } else {
    info.channels = shape.size() == 3 ? or_else(shape[1], 1) : 1;
    info.height = 1;
    info.width = or_else(shape.back(), 1);
  }
  info.classes = blueprint.head.classes > 0 ? blueprint.head.classes : 2;
  info.below = numbers_below(document);
  if (info.below > 0) info.numbers = nn::NetworkInfo::Numbers::below;
  return info;
}

/// What is as it is in the file.
Changes unchanged(const Blueprint& blueprint, const nn::ModelOptions& options) {
  const Head& head = blueprint.head;
  Changes changes;
  changes.head = head.kernel;
  changes.result = options.task.has_labels() ? head.scores : head.logits;
  return changes;
}

Changes changes_for(const Blueprint& blueprint, const nn::ModelOptions& options) {
  const Head& head = blueprint.head;
  Changes changes = unchanged(blueprint, options);
  if (head.classes == options.classes || head.classes == 0) return changes;
  if (head.kernel.empty()) {
    fail_request(
        "{}: it has {} classes, and its last layer was not found, so that it can have no other "
        "number: expected --classes {}, found {}",
        blueprint.document.name, head.classes, head.classes, options.classes);
  }
  Shape kernel(blueprint.document.initializers.at(head.kernel).shape);
  kernel[head.classes_axis] = options.classes;
  changes.shapes[head.kernel] = kernel;
  if (!head.bias.empty()) changes.shapes[head.bias] = {options.classes};
  return changes;
}

/// In the rank and order that the file expects.
ValueId images_as(nn::Builder& builder, ValueId images, const std::vector<int64_t>& expected) {
  const Shape from = builder.shape(images);
  builder.enter("images");
  if (has_channels_last(expected)) {
    return ops::transpose(builder.graph(), images, std::vector<int64_t>{0, 2, 3, 1});
  }
  const size_t rank = expected.size();
  if (rank == 4) return images;
  return ops::reshape(builder.graph(), images,
                      rank == 3 ? Shape{from[0], from[1], from[2] * from[3]}
                                : Shape{from[0], from.elements_from(1)});
}

ValueId add_nodes(const Blueprint& blueprint, nn::Builder& builder, ValueId images,
                  const Changes& changes, BatchPlan* plan) {
  const std::string& result = changes.result;
  const Port& port = image_port(blueprint.document);
  const ValueId given = images_as(builder, images, port.shape);
  if (plan != nullptr && plan->is_sought()) plan->begin(builder.graph(), given);
  Importer importer(builder, blueprint.document, changes, plan);
  importer.give(port.name, given);
  importer.run({result});
  return importer.value(result);
}

/// Where the file's own batch stands in its shapes, found in graphs that are made for that alone.
/// Throws what the first attempt failed with.
BatchPlan plan_batch(const Blueprint& blueprint, const nn::Builder& builder, TensorType images,
                     const Changes& changes) {
  const int64_t file_batch = image_port(blueprint.document).shape[0];
  BatchPlan plan(file_batch, images.shape[0]);
  images.shape[0] = plan.trial_batch();
  std::string why;
  do {
    graph::Graph graph;
    nn::Builder trial(graph, builder.compute_type(), builder.training());
    try {
      const ValueId logits =
          add_nodes(blueprint, trial, graph.add_input("images", images), changes, &plan);
      if (plan.is_by_sample(logits)) {
        plan.settle();
        return plan;
      }
      fail_request("{}: expected its output '{}' to be [batch, classes], found the batch elsewhere",
                   blueprint.document.name, blueprint.head.logits);
    } catch (const nn::ImageTooSmall&) {
      throw;
    } catch (const RequestError& error) {
      if (why.empty()) why = error.what();
    }
  } while (plan.choose_anew());
  throw RequestError(why);
}

/// Whether values of pictures or the like come out as they are: as many as there are targets.
bool gives_enough(const Blueprint& blueprint, const nn::Builder& builder, const TensorType& images,
                  const nn::ModelOptions& options) {
  if (options.task.has_classes() || blueprint.head.classes == options.classes) return false;
  graph::Graph graph;
  nn::Builder trial(graph, builder.compute_type(), builder.training());
  try {
    const ValueId result = add_nodes(blueprint, trial, graph.add_input("images", images),
                                     unchanged(blueprint, options), nullptr);
    return trial.shape(result).elements() == options.batch * options.classes;
  } catch (const RequestError&) {
    return false;  // what is wrong is said when it is built
  }
}

nn::Heads add_layers(const Blueprint& blueprint, nn::Builder& builder, ValueId images,
                     const nn::ModelOptions& options) {
  const Document& document = blueprint.document;
  const Changes changes = gives_enough(blueprint, builder, builder.type(images), options)
                              ? unchanged(blueprint, options)
                              : changes_for(blueprint, options);
  const int64_t file_batch = image_port(document).shape[0];
  std::optional<BatchPlan> plan;
  if (file_batch > 0 && file_batch != options.batch) {
    plan.emplace(plan_batch(blueprint, builder, builder.type(images), changes));
  }
  const ValueId logits = add_nodes(blueprint, builder, images, changes, plan ? &*plan : nullptr);
  const Shape shape = builder.shape(logits);
  const bool one_each =
      options.task.has_values() || (shape.rank() > 1 && shape[1] == options.classes);
  if (shape[0] != options.batch || !one_each ||
      shape.elements() != options.batch * options.classes) {
    fail_request(
        "{}: expected its output '{}' to be [batch, classes], {} for a batch of {} with {} "
        "classes, found {}",
        document.name, blueprint.head.logits, to_string(Shape{options.batch, options.classes}),
        options.batch, options.classes, to_string(shape));
  }
  // A value of each sample may come without an axis of its own.
  return {.logits = builder.to_f32(
              ops::reshape(builder.graph(), logits, {options.batch, options.classes}))};
}

}  // namespace

bool is_onnx_file(std::string_view network) {
  constexpr std::string_view kEnd = ".onnx";
  return network.size() > kEnd.size() && network.substr(network.size() - kEnd.size()) == kEnd;
}

nn::Network network_of(const std::string& bytes, const std::string& path) {
  auto blueprint = std::make_shared<Blueprint>();
  blueprint->document = parse(bytes, path);
  blueprint->head = find_head(blueprint->document);
  auto file = std::make_shared<nn::NetworkFile>();
  file->path = path;
  file->bytes = without_weights(bytes, path);
  nn::NetworkInfo info = info_of(*blueprint, path);
  return {std::move(info),
          [blueprint = std::shared_ptr<const Blueprint>(std::move(blueprint))](
              nn::Builder& builder, ValueId images, const nn::ModelOptions& options) {
            return add_layers(*blueprint, builder, images, options);
          },
          std::move(file)};
}

nn::Network load_network(const std::filesystem::path& file) {
  return network_of(read_bytes(file), std::filesystem::absolute(file).lexically_normal().string());
}

}  // namespace syrtos::onnx
