#include "syrtos/nn/described_layers.h"

#include <fmt/format.h>

#include <array>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/nn/described.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

using nlohmann::json;

namespace {

constexpr size_t kMostLayers = 10000;
constexpr size_t kMostParts = 1000;
constexpr int64_t kMostElements = int64_t{1} << 26;

using Names = std::set<std::string, std::less<>>;

void check(const DescribedLayer& layer, const Names& earlier) {
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

/// `lender`: the layer of that name, nullptr if none stands before it.
void check_lender(const DescribedLayer& layer, const DescribedLayer* lender) {
  if (!layer_rules().find(layer.op())->second.has_weights) {
    layer.fail("weights: expected none, it is a layer without");
  }
  if (lender == nullptr || !lender->lender().empty()) {
    layer.fail(
        fmt::format("weights: expected a layer before it that has weights of its own, found '{}'",
                    layer.lender()));
  }
  if (layer.is_alike(*lender)) return;
  layer.fail(fmt::format("it has the weights of {}: expected the same operation and attributes",
                         lender->title()));
}

ValueId add(const DescribedLayer& layer, const LayerPlace& place) {
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

/// Empty: it is none.
Shape shape_of(const json& extents) {
  Shape shape;
  int64_t elements = 1;
  if (!extents.is_array() || extents.size() > 3) return {};
  for (const json& extent : extents) {
    if (!extent.is_number_integer() || extent.get<double>() < 1 ||
        extent.get<double>() > static_cast<double>(kMostElements)) {
      return {};
    }
    shape.append(extent.get<int64_t>());
    elements *= extent.get<int64_t>();
    if (elements > kMostElements) return {};
  }
  return shape;
}

}  // namespace

json parsed_description(std::string_view text, std::string_view what) {
  json found;
  try {
    found = json::parse(text);
  } catch (const json::exception& error) {
    fail_request("{}: expected its description as JSON, found: {}", what, error.what());
  }
  if (found.is_object()) return found;
  fail_request("{}: expected a JSON object, found {}", what,
               found.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 200));
}

std::vector<DescribedPart> described_parts(const json& list, std::string_view what) {
  std::vector<DescribedPart> parts;
  Names names;
  bool valid = list.is_array() && !list.empty() && list.size() <= kMostParts;
  for (size_t i = 0; valid && i < list.size(); ++i) {
    const json& one = list[i];
    valid =
        one.is_object() && one.contains("name") && one["name"].is_string() && one.contains("shape");
    if (!valid) break;
    parts.push_back({one["name"].get<std::string>(), shape_of(one["shape"])});
    valid = parts.back().shape.rank() > 0 && names.insert(parts.back().name).second;
  }
  if (valid && elements_of(parts) <= kMostElements) return parts;
  fail_request(
      "{}: expected a list of names, each its own, with shapes of one to three extents, found {}",
      what, list.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 200));
}

int64_t elements_of(const std::vector<DescribedPart>& parts) {
  int64_t elements = 0;
  for (const DescribedPart& part : parts) elements += part.shape.elements();
  return elements;
}

std::vector<ValueId> take_parts(graph::Graph& graph, ValueId rows,
                                const std::vector<DescribedPart>& parts, bool for_layers) {
  const Shape from = graph.type(rows).shape;
  const ValueId flat = ops::flatten(graph, rows);
  std::vector<ValueId> taken;
  int64_t at = 0;
  for (const DescribedPart& part : parts) {
    const int64_t end = at + part.shape.elements();
    const std::array<ops::SliceRange, 1> range{{{.axis = 1, .start = at, .end = end}}};
    Shape to{from[0]};
    for (const int64_t extent : part.shape) {
      if (for_layers && part.shape.rank() == 2 && to.rank() == 2) to.append(1);
      to.append(extent);
    }
    taken.push_back(ops::reshape(graph, ops::slice(graph, flat, range), to));
    at = end;
  }
  return taken;
}

DescribedLayers::DescribedLayers(const json& list, const std::string& title,
                                 const std::vector<std::string>& inputs) {
  if (!list.is_array() || list.empty() || list.size() > kMostLayers) {
    fail_request("{}: expected 1 to {} layers, found {}", title, kMostLayers,
                 list.is_array() ? std::to_string(list.size()) : "none");
  }
  Names names(inputs.begin(), inputs.end());
  layers_.reserve(list.size());
  for (const json& each : list) {
    const DescribedLayer& layer = layers_.emplace_back(each, layers_.size());
    check(layer, names);
    if (!layer.lender().empty()) {
      const DescribedLayer* lender = find(layer.lender());
      check_lender(layer, lender == &layer ? nullptr : lender);
    }
    if (!names.insert(layer.name()).second) {
      layer.fail("expected a name of its own, found that of another layer");
    }
  }
}

const DescribedLayer* DescribedLayers::find(std::string_view name) const {
  for (const DescribedLayer& layer : layers_) {
    if (layer.name() == name) return &layer;
  }
  return nullptr;
}

void DescribedLayers::add_to(Builder& builder, const ModelOptions& options,
                             const DescribedLayer* output, Results& results) const {
  for (const DescribedLayer& layer : layers_) {
    LayerPlace place{
        .builder = builder, .inputs = {}, .options = options, .is_output = &layer == output};
    for (const std::string& input : layer.of()) {
      place.inputs.push_back(results.find(input)->second);
    }
    builder.call_layers(layer.name());
    builder.use_weights_of(layer.lender());
    builder.enter(layer.op());
    results[layer.name()] = add(layer, place);
  }
  builder.call_layers("");
  builder.use_weights_of("");
}

}  // namespace syrtos::nn
