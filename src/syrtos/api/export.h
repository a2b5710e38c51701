#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "syrtos/nn/network.h"

namespace syrtos::api {

/// Which trained network, and where it goes.
struct ExportRequest {
  std::filesystem::path checkpoint;         ///< A file or a run directory.
  std::filesystem::path to;                 ///< Ends in .onnx, .safetensors or .npz.
  std::optional<nn::Network> network = {};  ///< None: the one that the checkpoint names.
};

struct ExportedFile {
  std::filesystem::path checkpoint;
  std::string network;
  int64_t tensors = 0;
  int64_t values = 0;
  uint64_t bytes = 0;  ///< Of the file.
};

/// Writes the network (.onnx) or its weights alone (.safetensors, .npz) for programs of others; a
/// file that is there is replaced. Throws RequestError, or RunError when it cannot be written.
ExportedFile export_network(const ExportRequest& request);

}  // namespace syrtos::api
