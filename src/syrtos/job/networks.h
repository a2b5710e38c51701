#pragma once

#include <string>

#include "syrtos/nn/network.h"

namespace syrtos::job {

/// The network that people mean: one of the zoo by its name, or that of an ONNX file by its path.
/// Throws RequestError.
nn::Network find_network(const std::string& text);

/// The network that came as data, as other processes and run directories get it. Throws
/// RequestError.
nn::Network network_of(const nn::NetworkFile& file);

}  // namespace syrtos::job
