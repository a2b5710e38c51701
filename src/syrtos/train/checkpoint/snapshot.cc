#include "syrtos/train/checkpoint/snapshot.h"

#include <cmath>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/job/file.h"

namespace syrtos::train {

using graph::Parameters;
using graph::ParameterSlot;
using nlohmann::json;

namespace {

std::string parameter_key(const std::string& name) { return "parameters/" + name; }
std::string state_key(const std::string& name) { return "states/" + name; }
std::string slot_key(const std::string& slot, const std::string& name) {
  return "optimizer/" + slot + "/" + name;
}

Tensor unpack(const ParameterSlot& slot, const float* arena) {
  Tensor plain({DType::f32, slot.type.shape});
  ops::unpack(slot.layout, slot.type.shape, arena + slot.offset, plain.as<float>());
  return plain;
}

void pack(const ParameterSlot& slot, const Tensor& plain, float* arena) {
  ops::pack(slot.layout, slot.type.shape, plain.as<float>(), arena + slot.offset);
}

Tensor read_tensor(CheckpointReader& checkpoint, const std::string& key, const Shape& shape) {
  const CheckpointTensor* tensor = checkpoint.find(key);
  if (tensor == nullptr || !(tensor->shape == shape)) {
    fail_request("{}: expected {} of shape {}, found {}: is it of another network or job?",
                 checkpoint.file().string(), key, to_string(shape),
                 tensor == nullptr ? "none" : to_string(tensor->shape));
  }
  return checkpoint.read(*tensor);
}

/// A field of the header, of the type of `fallback`, which only says what is expected.
template <typename T>
T field(const CheckpointReader& checkpoint, const char* name, T fallback) {
  try {
    return checkpoint.meta().at(name).get<T>();
  } catch (const json::exception&) {
    fail_request("{}: expected {} in the header like {}, found {}", checkpoint.file().string(),
                 name, json(fallback).dump(),
                 checkpoint.meta().contains(name) ? checkpoint.meta()[name].dump() : "nothing");
  }
}

}  // namespace

void save_snapshot(const run::Directory& directory, const Job& job, const Parameters& parameters,
                   std::span<const KeptArena> kept, const Position& position) {
  const json meta = {
      {"job", job::to_toml(job::to_request(job))},
      {"network", job.network.name()},
      {"classes", job.classes},
      {"image", std::vector<int64_t>(job.image.begin(), job.image.end())},
      {"data", job.data_name},
      {"label_column", job.label_column},
      {"mean", job.normalization.mean},
      {"deviation", job.normalization.deviation},
      {"fit", job.fit == data::Fit::exact ? "exact" : "centre"},
      {"class_names", job.data.train->info().classes},
      {"precision", to_string(job.precision.dtype)},
      {"optimizer", to_string(job.optimizer.method)},
      {"seed", job.seed},
      {"random_samples", job.random_samples},
      {"step", position.step},
      {"updates", position.updates},
      {"epoch", position.epoch},
      {"used", position.used},
      {"loss_sum", position.loss_sum},
      {"correct", position.correct},
      {"samples", position.samples},
      {"unmeasured", position.unmeasured},
      {"best", std::isnan(position.best) ? json(nullptr) : json(position.best)},
      {"waited", position.waited},
  };
  std::vector<CheckpointTensor> tensors;
  for (const ParameterSlot& slot : parameters.slots()) {
    tensors.push_back({parameter_key(slot.name), slot.type.shape});
  }
  for (const graph::StateSlot& state : parameters.states()) {
    tensors.push_back({state_key(state.name), state.type.shape});
  }
  for (const KeptArena& arena : kept) {
    for (const ParameterSlot& slot : parameters.slots()) {
      tensors.push_back({slot_key(arena.name, slot.name), slot.type.shape});
    }
  }
  CheckpointWriter writer(directory.to_write(run::File::last_checkpoint), meta, std::move(tensors));
  for (const ParameterSlot& slot : parameters.slots()) {
    writer.write(unpack(slot, parameters.weights().data()));
  }
  for (const graph::StateSlot& state : parameters.states()) {
    writer.write(parameters.get_state(state.name));
  }
  for (const KeptArena& arena : kept) {
    for (const ParameterSlot& slot : parameters.slots()) {
      writer.write(unpack(slot, arena.values.data()));
    }
  }
  // Writing takes a while, in which the run may have found another owner.
  writer.finish(directory.previous(), [&] { directory.check_owner(); });
}

Snapshot copy_snapshot(const Parameters& parameters, std::span<const KeptArena> kept,
                       const Position& position) {
  Snapshot copy{.position = position, .tensors = {}};
  for (const ParameterSlot& slot : parameters.slots()) {
    copy.tensors.emplace(parameter_key(slot.name), unpack(slot, parameters.weights().data()));
    for (const KeptArena& arena : kept) {
      copy.tensors.emplace(slot_key(arena.name, slot.name), unpack(slot, arena.values.data()));
    }
  }
  for (const graph::StateSlot& state : parameters.states()) {
    copy.tensors.emplace(state_key(state.name), parameters.get_state(state.name));
  }
  return copy;
}

void restore_snapshot(const Snapshot& snapshot, Parameters& parameters,
                      std::span<const KeptArena> kept) {
  for (const ParameterSlot& slot : parameters.slots()) {
    parameters.set(slot.name, snapshot.tensors.at(parameter_key(slot.name)));
    for (const KeptArena& arena : kept) {
      pack(slot, snapshot.tensors.at(slot_key(arena.name, slot.name)), arena.values.data());
    }
  }
  for (const graph::StateSlot& state : parameters.states()) {
    parameters.set_state(state.name, snapshot.tensors.at(state_key(state.name)));
  }
}

void load_parameters(CheckpointReader& checkpoint, Parameters& parameters) {
  for (const ParameterSlot& slot : parameters.slots()) {
    parameters.set(slot.name, read_tensor(checkpoint, parameter_key(slot.name), slot.type.shape));
  }
  for (const graph::StateSlot& state : parameters.states()) {
    parameters.set_state(state.name,
                         read_tensor(checkpoint, state_key(state.name), state.type.shape));
  }
}

Position load_snapshot(CheckpointReader& checkpoint, Parameters& parameters,
                       std::span<const KeptArena> kept) {
  load_parameters(checkpoint, parameters);
  for (const KeptArena& arena : kept) {
    for (const ParameterSlot& slot : parameters.slots()) {
      pack(slot, read_tensor(checkpoint, slot_key(arena.name, slot.name), slot.type.shape),
           arena.values.data());
    }
  }
  Position position;
  position.step = field(checkpoint, "step", position.step);
  position.updates = field(checkpoint, "updates", position.updates);
  position.unmeasured = field(checkpoint, "unmeasured", position.unmeasured);
  position.epoch = field(checkpoint, "epoch", position.epoch);
  position.used = field(checkpoint, "used", position.used);
  position.loss_sum = field(checkpoint, "loss_sum", position.loss_sum);
  position.correct = field(checkpoint, "correct", position.correct);
  position.samples = field(checkpoint, "samples", position.samples);
  position.waited = field(checkpoint, "waited", position.waited);
  if (!checkpoint.meta().value("best", json(nullptr)).is_null()) {
    position.best = field(checkpoint, "best", 0.0);
  }
  if (position.step < 0 || position.updates < 0 || position.epoch < 0 || position.used < 0) {
    fail_request("{}: expected a position in the run, found step {} of epoch {}",
                 checkpoint.file().string(), position.step, position.epoch);
  }
  return position;
}

NetworkDescription describe(const CheckpointReader& checkpoint) {
  NetworkDescription description;
  description.network =
      nn::parse_network_reference(field(checkpoint, "network", std::string("lenet5")));
  description.data = field(checkpoint, "data", std::string("mnist"));
  description.label_column = field(checkpoint, "label_column", std::string());
  description.seed = field(checkpoint, "seed", int64_t{1});
  description.random_samples = field(checkpoint, "random_samples", int64_t{1});
  const auto image = field(checkpoint, "image", std::vector<int64_t>{1, 28, 28});
  if (image.size() != 3) {
    fail_request("{}: expected an image of 3 extents in the header, found {}",
                 checkpoint.file().string(), image.size());
  }
  description.class_names = field(checkpoint, "class_names", std::vector<std::string>{"0", "1"});
  description.fit = field(checkpoint, "fit", std::string("exact")) == "exact" ? data::Fit::exact
                                                                              : data::Fit::centre;
  data::Normalization& normalization = description.normalization;
  normalization.mean = field(checkpoint, "mean", std::vector<float>{0});
  normalization.deviation = field(checkpoint, "deviation", std::vector<float>{1});
  const auto fits = [&](const std::vector<float>& values) {
    const auto count = static_cast<int64_t>(values.size());
    return count == 1 || count == image[0] || (image[1] == 1 && count == image[0] * image[2]);
  };
  if (!fits(normalization.mean) || !fits(normalization.deviation)) {
    fail_request("{}: expected a mean and a deviation for each of {} channels, found {} and {}",
                 checkpoint.file().string(), image[0], normalization.mean.size(),
                 normalization.deviation.size());
  }
  nn::ModelOptions& options = description.options;
  options.classes = field(checkpoint, "classes", int64_t{10});
  options.channels = image[0];
  options.height = image[1];
  options.width = image[2];
  options.training = false;
  options.dtype =
      field(checkpoint, "precision", std::string("f32")) == "bf16" ? DType::bf16 : DType::f32;
  return description;
}

}  // namespace syrtos::train
