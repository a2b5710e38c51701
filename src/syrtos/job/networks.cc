#include "syrtos/job/networks.h"

#include "syrtos/nn/described.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/onnx/network.h"

namespace syrtos::job {

nn::Network find_network(const std::string& text) {
  return onnx::is_onnx_file(text) ? onnx::load_network(text) : nn::find_network(text);
}

nn::Network network_of(const nn::NetworkFile& file) {
  return file.is_onnx() ? onnx::network_of(file.bytes, file.path)
                        : nn::described_network(file.bytes);
}

}  // namespace syrtos::job
