#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "syrtos/graph/parameters.h"
#include "syrtos/nn/network.h"
#include "syrtos/weights/source.h"

namespace syrtos::train {

/// Weights to start from: a safetensors or ONNX file, a run directory, or a checkpoint of ours.
/// Throws RequestError.
std::unique_ptr<weights::Source> open_weights(const std::filesystem::path& path);

/// The names of parameters and states whose shapes depend on the number of classes.
std::set<std::string> head_of(const nn::Network& network, const nn::ModelOptions& options);

/// Puts the weights of a file over those that a network starts with. Says in one line what was
/// taken and what not. Throws RequestError: see weights::match().
std::string take_weights(const std::filesystem::path& path, const std::set<std::string>& head,
                         graph::Parameters& parameters);

/// The parameters that patterns mean: names with * and ?, separated by commas; "backbone": all but
/// the head. Throws RequestError when one fits nothing, or when nothing would be left to train.
std::vector<std::string> frozen_names(const std::string& patterns, const nn::Network& network,
                                      const nn::ModelOptions& options);

}  // namespace syrtos::train
