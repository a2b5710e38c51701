#include "syrtos/api/export.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "syrtos/api/run_network.h"
#include "syrtos/base/error.h"
#include "syrtos/onnx/export.h"
#include "syrtos/run/directory.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/network/starting_weights.h"
#include "syrtos/weights/npz.h"
#include "syrtos/weights/safetensors.h"

namespace syrtos::api {

using nlohmann::json;

namespace {

/// Of the classes, labels or values.
std::vector<std::string> names_of(const train::NetworkDescription& description) {
  std::vector<std::string> names = description.class_names;
  for (int64_t k = 0; k < description.targets.values; ++k) {
    names.push_back(description.targets.name(k));
  }
  return names;
}

/// What whoever uses the network must know: which classes, and how images become its input.
onnx::Metadata metadata_of(const train::NetworkDescription& description) {
  return {{"network", to_string(description.network)},
          {"classes", json(names_of(description)).dump()},
          {"loss", nn::loss_text(description.options.task)},
          {"mean", json(description.normalization.mean).dump()},
          {"deviation", json(description.normalization.deviation).dump()}};
}

void write_safetensors(const std::filesystem::path& to, weights::Source& source,
                       const onnx::Metadata& metadata) {
  weights::SafetensorsWriter writer(to, source.entries(), metadata);
  for (const weights::Entry& entry : source.entries()) writer.write(source.read(entry));
  writer.finish();
}

void write_npz(const std::filesystem::path& to, weights::Source& source) {
  weights::NpzWriter writer(to);
  for (const weights::Entry& entry : source.entries()) writer.write(entry.name, source.read(entry));
  writer.finish();
}

}  // namespace

ExportedFile export_network(const ExportRequest& request) {
  const std::string extension = request.to.extension().string();
  if (extension != ".onnx" && extension != ".safetensors" && extension != ".npz") {
    fail_request("--to: expected a file that ends in .onnx, .safetensors or .npz, found '{}'",
                 request.to.string());
  }
  const std::filesystem::path checkpoint = run::find_checkpoint(request.checkpoint);
  const train::NetworkDescription description =
      train::describe(train::CheckpointReader(checkpoint));
  const onnx::Metadata metadata = metadata_of(description);
  const std::unique_ptr<weights::Source> source = train::open_weights(checkpoint);
  if (extension == ".safetensors") {
    write_safetensors(request.to, *source, metadata);
  } else if (extension == ".npz") {
    write_npz(request.to, *source);
  } else {
    const nn::Network network =
        request.network ? *request.network : network_of_checkpoint(checkpoint, description.network);
    std::map<std::string, const weights::Entry*> entries;
    for (const weights::Entry& entry : source->entries()) entries[entry.name] = &entry;
    const auto weight = [&](const std::string& name) {
      const auto found = entries.find(name);
      if (found != entries.end()) return source->read(*found->second);
      fail_request("{}: expected the weight {}, found none: is it of another network?",
                   checkpoint.string(), name);
    };
    onnx::write_network(request.to, network, description.options, weight, metadata);
  }
  ExportedFile exported{.checkpoint = checkpoint,
                        .network = to_string(description.network),
                        .tensors = static_cast<int64_t>(source->entries().size()),
                        .bytes = std::filesystem::file_size(request.to)};
  for (const weights::Entry& entry : source->entries()) exported.values += entry.shape.elements();
  return exported;
}

}  // namespace syrtos::api
