#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "syrtos/nn/model.h"

namespace syrtos::compare {

/// The name of a value in a description: its own, or "v" and its number.
std::string value_name(const graph::Graph& graph, graph::ValueId value);

/// A model's forward pass for whoever builds it with operations of their own: parameters, states
/// and nodes in an order in which they can run. A bias that only a convolution or dense layer
/// before it gets is that layer's third input; log-softmax and cross-entropy are one.
/// docs/compare.md lists operations and attributes. Throws RequestError that names an operation
/// that has no place in it.
nlohmann::json describe(const nn::Model& model);

}  // namespace syrtos::compare
