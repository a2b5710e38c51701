#pragma once

#include <filesystem>
#include <string>

#include "syrtos/nn/network.h"

namespace syrtos::onnx {

/// Whether a network's name is that of an ONNX file: it ends in ".onnx".
bool is_onnx_file(std::string_view network);

/// The network that an ONNX file describes, to be built for any batch, image size and number of
/// classes that its layers allow; its weights keep their names. Reads the file once, and keeps no
/// weights. Throws RequestError: not such a file, or operators that we lack, all of them.
nn::Network load_network(const std::filesystem::path& file);

/// The same of a file's bytes, with or without the values of its weights: as other processes get
/// it. `path`: where the file was.
nn::Network network_of(const std::string& bytes, const std::string& path);

}  // namespace syrtos::onnx
