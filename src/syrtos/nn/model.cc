#include "syrtos/nn/model.h"

#include <map>
#include <string_view>

namespace syrtos::nn {
namespace {

std::map<std::string_view, const TensorType*> named_types(const graph::Graph& graph) {
  std::map<std::string_view, const TensorType*> types;
  for (const graph::Value& value : graph.values()) {
    if (!value.name.empty()) types[value.name] = &value.type;
  }
  return types;
}

}  // namespace

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
