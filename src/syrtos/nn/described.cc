#include "syrtos/nn/described.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/nn/described_layer.h"

namespace syrtos::nn {

using nlohmann::json;

namespace {

constexpr std::string_view kInput = "input";
constexpr size_t kMostLayers = 10000;
constexpr int64_t kMostRows = int64_t{1} << 24;

/// What a description says, with everything checked that needs no shapes.
class Description {
 public:
  explicit Description(std::string_view text) : json_(parsed(text)) {
    if (!json_.is_object()) fail_request("network: expected a JSON object, found {}", shown());
    const json name = json_.value("name", json("network"));
    if (!name.is_string() || name.get_ref<const std::string&>().empty()) {
      fail_request("network: expected a text as its name, found {}", name.dump());
    }
    name_ = name.get<std::string>();
    read_layers();
    read_input();
  }

  NetworkInfo info() const {
    NetworkInfo info{.name = name_, .description = "described layer by layer"};
    if (!input_.empty()) {
      info.channels = input_.size() == 1 ? 1 : input_[0];
      info.height = input_.size() == 3 ? input_[1] : 1;
      info.width = input_.back();
    }
    if (const DescribedLayer& last = layers_.back(); last.op() == "linear") {
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
    std::map<std::string_view, ValueId> results;
    results[kInput] = input_.size() == 1 ? builder.flatten(images) : images;
    for (const DescribedLayer& layer : layers_) {
      LayerPlace place{.builder = builder,
                       .inputs = {},
                       .options = options,
                       .is_output = &layer == &layers_.back()};
      for (const std::string& input : layer.of()) place.inputs.push_back(results.at(input));
      builder.call_layers(layer.name());
      builder.enter(layer.op());
      results[layer.name()] = add(layer, place);
    }
    builder.call_layers("");
    const ValueId logits = results.at(layers_.back().name());
    const Shape& shape = builder.shape(logits);
    const bool fits = options.task.has_values() ? shape.elements() / shape[0] == options.classes
                                                : shape.rank() == 2 && shape[1] == options.classes;
    if (!fits) {
      layers_.back().fail(
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
  static json parsed(std::string_view text) {
    try {
      return json::parse(text);
    } catch (const json::exception& error) {
      fail_request("network: expected its description as JSON, found: {}", error.what());
    }
  }

  std::string shown() const {
    return json_.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 200);
  }

  void read_layers() {
    const json layers = json_.value("layers", json());
    if (!layers.is_array() || layers.empty() || layers.size() > kMostLayers) {
      fail_request("network {}: expected 1 to {} layers, found {}", name_, kMostLayers,
                   layers.is_array() ? std::to_string(layers.size()) : "none");
    }
    std::set<std::string, std::less<>> names = {std::string(kInput)};
    for (const json& each : json_["layers"]) {
      const DescribedLayer& layer = layers_.emplace_back(each, layers_.size());
      check(layer, names);
      if (!names.insert(layer.name()).second) {
        layer.fail("expected a name of its own, found that of another layer");
      }
    }
    const json output = json_.value("output", json(layers_.back().name()));
    if (output != layers_.back().name()) {
      fail_request("network {}: expected the last layer, {}, to be the output, found {}", name_,
                   layers_.back().name(), output.dump());
    }
  }

  static void check(const DescribedLayer& layer,
                    const std::set<std::string, std::less<>>& earlier) {
    const auto rule = layer_rules().find(layer.op());
    if (rule == layer_rules().end()) {
      layer.fail(fmt::format("unknown operation '{}'{}", layer.op(),
                             suggestion(layer.op(), described_operations())));
    }
    const auto inputs = static_cast<int>(layer.of().size());
    if (inputs < rule->second.least || inputs > rule->second.most) {
      layer.fail(fmt::format("expected {} {}, found {}",
                             rule->second.most == 1 ? "one" : "two or more",
                             rule->second.most == 1 ? "input" : "inputs", inputs));
    }
    layer.refuse_others(rule->second.attributes);
    for (const std::string& input : layer.of()) {
      if (!earlier.contains(input)) {
        layer.fail(fmt::format("it takes '{}', expected a layer that stands before it", input));
      }
    }
  }

  void read_input() {
    constexpr int64_t kMost = int64_t{1} << 24;
    const json input = json_.value("input", json());
    if (input.is_null()) return;
    bool valid = input.is_array() && !input.empty() && input.size() <= 3;
    if (valid) {
      for (const json& extent : input) {
        valid = valid && extent.is_number_integer() && extent.get<double>() >= 1 &&
                extent.get<double>() <= kMost;
        if (valid) input_.push_back(extent.get<int64_t>());
      }
    }
    if (valid) return;
    fail_request(
        "network {}: expected its input as [channels, height, width], [channels, length] or "
        "[features], found {}",
        name_, input.dump());
  }

  static ValueId add(const DescribedLayer& layer, const LayerPlace& place) {
    try {
      return layer_rules().find(layer.op())->second.add(layer, place);
    } catch (const ImageTooSmall&) {
      throw;
    } catch (const RequestError& error) {
      const std::string_view text = error.what();
      if (text.starts_with("layer ")) throw;
      layer.fail(std::string(text));
    }
  }

  json json_;
  std::string name_;
  std::vector<DescribedLayer> layers_;
  std::vector<int64_t> input_;  ///< Empty: whatever the data has.
};

}  // namespace

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
