#include "syrtos/train/checkpoint/members.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/nn/side_by_side.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/network/starting_weights.h"

namespace syrtos::train {

namespace {

/// Parameters and states of one member, by their keys in checkpoints.
std::vector<CheckpointTensor> tensors_of(const CheckpointReader& checkpoint,
                                         const nn::Network& network,
                                         const nn::ModelOptions& options, int64_t members) {
  std::vector<CheckpointTensor> tensors;
  for (const weights::Entry& entry : entries_of(network.build(options))) {
    const CheckpointTensor* all = checkpoint.find("parameters/" + entry.name);
    if (all == nullptr) all = checkpoint.find("states/" + entry.name);
    if (all == nullptr) continue;  // no output needs it
    if (all->shape.elements() != members * entry.shape.elements()) {
      fail_request("{}: expected {} times {} for {}, found {}", checkpoint.file().string(), members,
                   to_string(entry.shape), all->name, to_string(all->shape));
    }
    tensors.push_back({.name = all->name, .shape = entry.shape});
  }
  return tensors;
}

/// The job says which network it is too.
nlohmann::json meta_of(const CheckpointReader& checkpoint, const std::string& all,
                       const std::string& one) {
  nlohmann::json meta = checkpoint.meta();
  meta["network"] = one;
  std::string job = meta.value("job", "");
  if (const size_t at = job.find(all); at != std::string::npos) job.replace(at, all.size(), one);
  meta["job"] = job;
  return meta;
}

}  // namespace

int64_t split_members(const std::filesystem::path& file, const nn::Network& network,
                      const std::function<std::filesystem::path(int64_t number)>& to) {
  CheckpointReader checkpoint(file);
  const NetworkDescription about = describe(checkpoint);
  const int64_t members = nn::members_of(about.network);
  const std::vector<CheckpointTensor> tensors =
      tensors_of(checkpoint, network, about.options, members);
  const nlohmann::json meta = meta_of(checkpoint, to_string(about.network), network.name());
  for (int64_t m = 0; m < members; ++m) {
    CheckpointWriter writer(to(m + 1), meta, tensors);
    for (const CheckpointTensor& tensor : tensors) {
      const Tensor all = checkpoint.read(*checkpoint.find(tensor.name));
      Tensor own({DType::f32, tensor.shape});
      std::copy_n(all.as<float>() + m * own.elements(), own.elements(), own.as<float>());
      writer.write(own);
    }
    writer.finish();
  }
  return members;
}

}  // namespace syrtos::train
