#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/graph/reference.h"
#include "syrtos/nn/described_layers.h"
#include "syrtos/nn/task.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/shaping.h"

namespace syrtos::nn {

using nlohmann::json;

namespace {

constexpr const char* kTitle = "loss";

json& layers_of(json& description) {
  json& layers = description["layers"];
  return layers;
}

std::vector<DescribedPart> parts_of(const json& description) {
  if (!description.contains("parts")) return {};
  return described_parts(description["parts"], "loss: parts");
}

std::vector<std::string> names_of(const std::vector<DescribedPart>& parts) {
  if (parts.empty()) return {"output", "target"};
  std::vector<std::string> names;
  for (const DescribedPart& part : parts) {
    names.push_back("output." + part.name);
    names.push_back("target." + part.name);
  }
  return names;
}

}  // namespace

struct OwnLoss::Parts {
  explicit Parts(std::string_view text)
      : description(parsed_description(text, kTitle)),
        parts(parts_of(description)),
        layers(layers_of(description), kTitle, names_of(parts)) {}

  json description;
  std::vector<DescribedPart> parts;
  DescribedLayers layers;
};

/// The loss of one sample, to be computed by the references.
struct OwnLoss::Sample {
  graph::Graph graph;
  ValueId outputs = graph::kNone;
  ValueId targets = graph::kNone;
  ValueId loss = graph::kNone;
};

OwnLoss::OwnLoss(std::string_view json_text)
    : text_(json_text), parts_(std::make_unique<const Parts>(json_text)) {
  const json of = parts_->description.value("of", json(""));
  if (of.is_string()) of_ = of.get<std::string>();
  const bool known = of_.empty() || of_ == "classes" || of_ == "values" || of_ == "labels";
  if (!of.is_string() || !known) {
    fail_request("loss: of: expected classes, values or labels, found {}", of.dump());
  }
}

OwnLoss::~OwnLoss() = default;

std::shared_ptr<const OwnLoss> OwnLoss::with(std::string_view of) const {
  json description = parts_->description;
  description["of"] = of;
  return std::make_shared<const OwnLoss>(description.dump());
}

ValueId OwnLoss::add_to(Builder& builder, ValueId outputs, ValueId targets) const {
  const std::vector<DescribedPart>& parts = parts_->parts;
  DescribedLayers::Results results = {{"output", outputs}, {"target", targets}};
  builder.enter(kTitle);
  if (!parts.empty()) {
    const int64_t found = builder.shape(outputs)[1];
    if (found != elements_of(parts)) {
      fail_request("loss: expected outputs of {} values in its parts, found {}", elements_of(parts),
                   found);
    }
    const std::vector<ValueId> given = take_parts(builder.graph(), outputs, parts, false);
    const std::vector<ValueId> wanted = take_parts(builder.graph(), targets, parts, false);
    for (size_t i = 0; i < parts.size(); ++i) {
      results["output." + parts[i].name] = given[i];
      results["target." + parts[i].name] = wanted[i];
    }
  }
  const size_t weights = builder.initializers().size();
  parts_->layers.add_to(builder, {}, nullptr, results);
  if (builder.initializers().size() != weights) {
    fail_request("loss: expected operations without weights, found the weight {}",
                 builder.initializers().back().name);
  }
  const ValueId all = results.find(parts_->layers.last().name())->second;
  return ops::reduce(builder.graph(), builder.to_f32(all), ops::ReduceKind::mean, {}, false);
}

double OwnLoss::value(std::span<const float> outputs, std::span<const double> targets) const {
  const Sample* sample = nullptr;
  {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<const Sample>& made = samples_[outputs.size()];
    if (!made) {
      auto one = std::make_unique<Sample>();
      const TensorType row{DType::f32, {1, static_cast<int64_t>(outputs.size())}};
      Builder builder(one->graph, DType::f32, false);
      one->outputs = one->graph.add_input("outputs", row);
      one->targets = one->graph.add_input("targets", row);
      one->loss = add_to(builder, one->outputs, one->targets);
      made = std::move(one);
    }
    sample = made.get();
  }
  std::map<ValueId, ops::RefTensor> given;
  const Shape row{1, static_cast<int64_t>(outputs.size())};
  ops::RefTensor values(row);
  values.values.assign(outputs.begin(), outputs.end());
  given[sample->outputs] = values;
  values.values.assign(targets.begin(), targets.end());
  given[sample->targets] = values;
  return graph::evaluate_reference(sample->graph, std::move(given)).at(sample->loss)[0];
}

}  // namespace syrtos::nn
