#include "syrtos/api/run_network.h"

#include "syrtos/base/error.h"
#include "syrtos/nn/described.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/onnx/document.h"
#include "syrtos/onnx/network.h"
#include "syrtos/run/directory.h"

namespace syrtos::api {

namespace {

nn::Network described_in(const run::Directory& directory) {
  return nn::described_network(onnx::read_bytes(directory.file(run::File::layers)));
}

}  // namespace

job::Own own_of(const TrainRequest& request, const job::JobRequest& job) {
  job::Own own = request.own;
  if (own.network || request.resume.empty()) return own;
  const auto directory = run::Directory::at(request.resume);
  if (directory.has(run::File::layers)) own.network = described_in(directory);
  if (onnx::is_onnx_file(job.network) && directory.has(run::File::network)) {
    own.network =
        onnx::network_of(onnx::read_bytes(directory.file(run::File::network)), job.network);
  }
  return own;
}

nn::Network network_of_checkpoint(const std::filesystem::path& checkpoint,
                                  const nn::NetworkReference& reference) {
  const std::string name = to_string(reference);
  const auto directory = run::Directory::at(checkpoint.parent_path());
  if (directory.has(run::File::layers)) {
    nn::Network network = described_in(directory);
    if (network.name() == name) return network;
  }
  if (!onnx::is_onnx_file(name)) return nn::find_network(reference);
  if (!directory.has(run::File::network)) {
    fail_request(
        "{}: it has the weights of {}, and the network itself is expected beside it in {}, "
        "found none: copy it from the run directory",
        checkpoint.string(), name, run::name_of(run::File::network));
  }
  return onnx::network_of(onnx::read_bytes(directory.file(run::File::network)), name);
}

}  // namespace syrtos::api
