#include "syrtos/api/run_network.h"

#include "syrtos/base/error.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/onnx/document.h"
#include "syrtos/onnx/network.h"
#include "syrtos/run/directory.h"

namespace syrtos::api {

job::Own own_of(const TrainRequest& request, const job::JobRequest& job) {
  job::Own own = request.own;
  if (own.network || request.resume.empty() || !onnx::is_onnx_file(job.network)) return own;
  const auto directory = run::Directory::at(request.resume);
  if (directory.has(run::File::network)) {
    own.network =
        onnx::network_of(onnx::read_bytes(directory.file(run::File::network)), job.network);
  }
  return own;
}

nn::Network network_of_checkpoint(const std::filesystem::path& checkpoint,
                                  const nn::NetworkReference& reference) {
  const std::string name = to_string(reference);
  if (!onnx::is_onnx_file(name)) return nn::find_network(reference);
  const auto directory = run::Directory::at(checkpoint.parent_path());
  if (!directory.has(run::File::network)) {
    fail_request(
        "{}: it has the weights of {}, and the network itself is expected beside it in {}, "
        "found none: copy it from the run directory",
        checkpoint.string(), name, run::name_of(run::File::network));
  }
  return onnx::network_of(onnx::read_bytes(directory.file(run::File::network)), name);
}

}  // namespace syrtos::api
