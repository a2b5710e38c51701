#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "syrtos/nn/network.h"

namespace syrtos::onnx {

/// What an exported file says beside the network: class names, how images were normalised.
using Metadata = std::map<std::string, std::string>;

/// The value of a parameter or state by its name, f32.
using Weights = std::function<Tensor(const std::string& name)>;

/// Writes a network as it is evaluated, for images of the size in `options` and any batch: input
/// "images" [batch, channels, height, width], output "logits" [batch, classes], both f32; weights
/// keep their names, and what they are called the input or output is not ("logits_1"). The file
/// appears when it is whole. Throws RequestError when ONNX has no operator for something, RunError
/// when it cannot be written.
void write_network(const std::filesystem::path& file, const nn::Network& network,
                   const nn::ModelOptions& options, const Weights& weights,
                   const Metadata& metadata);

}  // namespace syrtos::onnx
