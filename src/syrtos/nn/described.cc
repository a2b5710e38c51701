#include "syrtos/nn/described.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/nn/described_layers.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

using nlohmann::json;

namespace {

constexpr std::string_view kInput = "input";
constexpr int64_t kMostRows = int64_t{1} << 24;

/// What a description says, with everything checked that needs no shapes.
class Description {
 public:
  explicit Description(std::string_view text)
      : json_(parsed_description(text, "network")),
        name_(read_name()),
        inputs_(json_.contains("inputs")
                    ? described_parts(json_["inputs"], fmt::format("{}: inputs", title()))
                    : std::vector<DescribedPart>()),
        layers_(json_.value("layers", json()).is_array() ? json_["layers"] : json_, title(),
                input_names()) {
    read_input();
    read_outputs();
  }

  NetworkInfo info() const {
    NetworkInfo info{.name = name_, .description = "described layer by layer"};
    if (!inputs_.empty()) {
      const Shape packed = packed_shape(elements_of(inputs_));
      info.channels = packed[0];
      info.height = packed[1];
      info.width = packed[2];
    } else if (!input_.empty()) {
      info.channels = input_.size() == 1 ? 1 : input_[0];
      info.height = input_.size() == 3 ? input_[1] : 1;
      info.width = input_.back();
    }
    if (!outputs_.empty()) {
      info.classes = outputs_together(info);
    } else if (const DescribedLayer& last = layers_.last(); last.op() == "linear") {
      info.classes = last.integer("out", info.classes, 1, int64_t{1} << 24);
    }
    for (const DescribedLayer& layer : layers_) {
      if (layer.op() != "embedding" || layer.of()[0] != kInput) continue;
      info.numbers = NetworkInfo::Numbers::below;
      info.below = layer.integer("rows", 1, kMostRows);
    }
    return info;
  }

  Heads add_to(Builder& builder, ValueId images, const ModelOptions& options) const {
    DescribedLayers::Results results;
    give_inputs(builder, images, results);
    layers_.add_to(builder, options, outputs_.empty() ? &layers_.last() : nullptr, results);
    if (!outputs_.empty()) return {.logits = together(builder, results, options)};
    const ValueId logits = results.at(layers_.last().name());
    const Shape& shape = builder.shape(logits);
    const bool fits = options.task.has_values() ? shape.elements() / shape[0] == options.classes
                                                : shape.rank() == 2 && shape[1] == options.classes;
    if (!fits) {
      layers_.last().fail(
          fmt::format("it is the output and gives {}, expected [batch, {}]: one value for each of "
                      "the {} {}",
                      shape_text(shape), options.classes, options.classes,
                      options.task.has_classes()  ? "classes"
                      : options.task.has_labels() ? "labels"
                                                  : "values to predict"));
    }
    return {.logits = logits};
  }

 private:
  std::string title() const { return "network " + name_; }

  std::string read_name() const {
    const json name = json_.value("name", json("network"));
    if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
      fail_request("network: expected a text as its name, found {}", name.dump());
    }
    return name.get<std::string>();
  }

  std::vector<std::string> input_names() const {
    if (inputs_.empty()) return {std::string(kInput)};
    std::vector<std::string> names;
    for (const DescribedPart& part : inputs_) names.push_back(part.name);
    return names;
  }

  void read_outputs() {
    const json outputs = json_.value("outputs", json());
    if (outputs.is_null()) {
      const json output = json_.value("output", json(layers_.last().name()));
      if (output == layers_.last().name()) return;
      fail_request("{}: expected the last layer, {}, to be the output, found {}", title(),
                   layers_.last().name(), output.dump());
    }
    bool valid = outputs.is_array() && !outputs.empty();
    for (size_t i = 0; valid && i < outputs.size(); ++i) {
      valid = outputs[i].is_string() && layers_.find(outputs[i].get<std::string>()) != nullptr;
      if (valid) outputs_.push_back(outputs[i].get<std::string>());
    }
    if (valid) return;
    fail_request("{}: expected names of layers as its outputs, found {}", title(), outputs.dump());
  }

  void read_input() {
    constexpr int64_t kMost = int64_t{1} << 24;
    const json input = json_.value("input", json());
    if (input.is_null()) return;
    bool valid = inputs_.empty() && input.is_array() && !input.empty() && input.size() <= 3;
    if (valid) {
      for (const json& extent : input) {
        valid = valid && extent.is_number_integer() && extent.get<double>() >= 1 &&
                extent.get<double>() <= kMost;
        if (valid) input_.push_back(extent.get<int64_t>());
      }
    }
    if (valid) return;
    fail_request(
        "{}: expected its input as [channels, height, width], [channels, length] or "
        "[features], found {}",
        title(), input.dump());
  }

  void give_inputs(Builder& builder, ValueId images, DescribedLayers::Results& results) const {
    if (inputs_.empty()) {
      results[std::string(kInput)] = input_.size() == 1 ? builder.flatten(images) : images;
      return;
    }
    const Shape& shape = builder.shape(images);
    const int64_t expected = packed_shape(elements_of(inputs_)).elements();
    if (shape.elements() / shape[0] != expected) {
      fail_request("{}: expected its {} inputs in one row of {} values, found samples of {}",
                   title(), inputs_.size(), expected, shape_text(shape));
    }
    builder.enter("inputs");
    const std::vector<ValueId> parts = take_parts(builder.graph(), images, inputs_, true);
    for (size_t i = 0; i < parts.size(); ++i) results[inputs_[i].name] = parts[i];
  }

  /// All outputs in rows, one behind the other.
  ValueId together(Builder& builder, const DescribedLayers::Results& results,
                   const ModelOptions& options) const {
    builder.enter("outputs");
    std::vector<ValueId> rows;
    for (const std::string& output : outputs_) {
      rows.push_back(builder.to_f32(ops::flatten(builder.graph(), results.find(output)->second)));
    }
    const ValueId all = rows.size() == 1 ? rows[0] : builder.concat(rows, 1);
    const int64_t found = builder.shape(all)[1];
    if (found == options.classes) return all;
    fail_request("{}: its {} outputs give {} values, expected {}: one for each that the data has",
                 title(), outputs_.size(), found, options.classes);
  }

  /// Found out in a graph that is made for that alone.
  int64_t outputs_together(const NetworkInfo& info) const {
    graph::Graph graph;
    Builder trial(graph, DType::f32, false);
    const ValueId images =
        graph.add_input("images", {DType::f32, {1, info.channels, info.height, info.width}});
    DescribedLayers::Results results;
    give_inputs(trial, images, results);
    layers_.add_to(trial, {}, nullptr, results);
    int64_t sum = 0;
    for (const std::string& output : outputs_) {
      sum += trial.shape(results.find(output)->second).elements();
    }
    return sum;
  }

  json json_;
  std::string name_;
  std::vector<DescribedPart> inputs_;  ///< Of a network that has several; empty: one.
  DescribedLayers layers_;
  std::vector<int64_t> input_;        ///< Of the one; empty: whatever the data has.
  std::vector<std::string> outputs_;  ///< Empty: the last layer.
};

}  // namespace

Shape packed_shape(int64_t elements) {
  constexpr int64_t kRow = 8192;
  if (elements <= kRow) return {1, 1, elements};
  return {1, (elements + kRow - 1) / kRow, kRow};
}

Network described_network(std::string_view text) {
  const auto description = std::make_shared<const Description>(text);
  auto file = std::make_shared<NetworkFile>();
  file->kind = NetworkFile::Kind::layers;
  file->bytes = text;
  return {description->info(),
          [description](Builder& builder, ValueId images, const ModelOptions& options) {
            return description->add_to(builder, images, options);
          },
          std::move(file)};
}

std::vector<std::string> described_operations() {
  std::vector<std::string> words;
  for (const auto& [word, rule] : layer_rules()) words.push_back(word);
  return words;
}

}  // namespace syrtos::nn
