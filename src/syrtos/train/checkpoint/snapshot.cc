#include "syrtos/train/checkpoint/snapshot.h"

#include <cmath>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/job/file.h"

namespace syrtos::train {

using graph::Parameters;
using nlohmann::json;

namespace {

Tensor read_tensor(CheckpointReader& checkpoint, const NamedShape& what) {
  const CheckpointTensor* tensor = checkpoint.find(what.key);
  if (tensor == nullptr || !(tensor->shape == what.shape)) {
    fail_request("{}: expected {} of shape {}, found {}: is it of another network or job?",
                 checkpoint.file().string(), what.key, to_string(what.shape),
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

/// What was learnt, and what the targets are.
json task_json(const Job& job) {
  const data::TargetInfo& targets = job.targets;
  return {{"loss", nn::loss_text(job.task)}, {"mean", job.task.mean},
          {"deviation", job.task.deviation}, {"shape", targets.shape},
          {"names", targets.names},          {"binary", targets.binary}};
}

/// Of a checkpoint that says nothing of it: classes.
void read_task(const CheckpointReader& checkpoint, NetworkDescription& description) {
  const json text = checkpoint.meta().value("task", json());
  nn::ModelOptions& options = description.options;
  if (text.is_null()) return;
  try {
    options.task = nn::parse_loss(text.at("loss").get<std::string>());
    options.task.mean = text.at("mean").get<std::vector<float>>();
    options.task.deviation = text.at("deviation").get<std::vector<float>>();
    description.targets = {.values = options.task.has_classes() ? 0 : options.classes,
                           .shape = text.at("shape").get<std::vector<int64_t>>(),
                           .names = text.at("names").get<std::vector<std::string>>(),
                           .binary = text.at("binary").get<bool>()};
  } catch (const json::exception&) {
    fail_request("{}: expected what was learnt in the header, found {}", checkpoint.file().string(),
                 text.dump());
  }
  description.open.targets =
      options.task.has_classes() ? data::TargetKind::classes : data::TargetKind::values;
  const auto outputs = static_cast<size_t>(options.classes);
  const size_t scaled = options.task.mean.size();
  if (options.task.deviation.size() != scaled || (scaled > 0 && scaled != outputs)) {
    fail_request("{}: expected a mean and a deviation of each of {} values, found {} and {}",
                 checkpoint.file().string(), outputs, scaled, options.task.deviation.size());
  }
}

}  // namespace

void save_snapshot(const run::Directory& directory, const Job& job, const RunTensors& own,
                   const Spool& others, const Position& position) {
  const json meta = {
      {"job", job::to_toml(job::to_request(job))},
      {"network", job.network.name()},
      {"classes", job.classes},
      {"image", std::vector<int64_t>(job.image.begin(), job.image.end())},
      {"data", job.data_name},
      {"label_column", job.open.label_column},
      {"validation", job.open.validation},
      {"task", task_json(job)},
      {"mean", job.normalization.mean},
      {"deviation", job.normalization.deviation},
      {"fit", job.fit == data::Fit::exact ? "exact" : "centre"},
      {"class_names", job.data.train->info().classes},
      {"columns", job.data.train->info().columns},
      {"precision", to_string(job.precision.dtype)},
      {"optimizer", to_string(job.optimizer.method)},
      {"seed", job.seed},
      {"random_samples", job.random_samples},
      {"step", position.step},
      {"updates", position.updates},
      {"epoch", position.epoch},
      {"used", position.used},
      {"loss_sum", position.loss_sum},
      {"score_sum", position.score_sum},
      {"samples", position.samples},
      {"unmeasured", position.unmeasured},
      {"best", std::isnan(position.best) ? json(nullptr) : json(position.best)},
      {"waited", position.waited},
      {"rate", position.rate},
  };
  std::vector<CheckpointTensor> tensors;
  for (const auto* all : {&own.all(), &others.all()}) {
    for (const NamedShape& tensor : *all) tensors.push_back({tensor.key, tensor.shape});
  }
  CheckpointWriter writer(directory.to_write(run::File::last_checkpoint), meta, std::move(tensors));
  for (size_t i = 0; i < own.all().size(); ++i) writer.write(own.get(i));
  for (size_t i = 0; i < others.all().size(); ++i) writer.write(others.read(i));
  // Writing takes a while, in which the run may have found another owner.
  writer.finish(directory.previous(), [&] { directory.check_owner(); });
}

Snapshot copy_snapshot(const RunTensors& own, const Position& position) {
  Snapshot copy{.position = position, .tensors = {}};
  for (size_t i = 0; i < own.all().size(); ++i) copy.tensors.emplace(own.all()[i].key, own.get(i));
  return copy;
}

void restore_snapshot(const Snapshot& snapshot, RunTensors& own) {
  for (size_t i = 0; i < own.all().size(); ++i) own.set(i, snapshot.tensors.at(own.all()[i].key));
}

std::optional<Tensor> CheckpointTensors::find(const NamedShape& what) {
  return read_tensor(reader_, what);
}

void load_parameters(CheckpointReader& checkpoint, Parameters& parameters) {
  RunTensors own(parameters, {});
  for (size_t i = 0; i < own.all().size(); ++i) {
    own.set(i, read_tensor(checkpoint, own.all()[i]));
  }
}

Position load_snapshot(CheckpointReader& checkpoint, RunTensors& own) {
  for (size_t i = 0; i < own.all().size(); ++i) {
    own.set(i, read_tensor(checkpoint, own.all()[i]));
  }
  Position position;
  position.step = field(checkpoint, "step", position.step);
  position.updates = field(checkpoint, "updates", position.updates);
  position.unmeasured = field(checkpoint, "unmeasured", position.unmeasured);
  position.epoch = field(checkpoint, "epoch", position.epoch);
  position.used = field(checkpoint, "used", position.used);
  position.loss_sum = field(checkpoint, "loss_sum", position.loss_sum);
  position.score_sum = field(checkpoint, "score_sum", position.score_sum);
  position.samples = field(checkpoint, "samples", position.samples);
  position.waited = field(checkpoint, "waited", position.waited);
  // Checkpoints of before do not have it.
  if (checkpoint.meta().contains("rate")) {
    position.rate = field(checkpoint, "rate", position.rate);
  }
  if (!checkpoint.meta().value("best", json(nullptr)).is_null()) {
    position.best = field(checkpoint, "best", 0.0);
  }
  if (!(position.rate >= 0 && std::isfinite(position.rate))) {
    fail_request("{}: expected a learning rate, found {}", checkpoint.file().string(),
                 position.rate);
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
  description.open.label_column = field(checkpoint, "label_column", std::string());
  description.open.validation = checkpoint.meta().value("validation", 0.0);
  description.seed = field(checkpoint, "seed", int64_t{1});
  description.random_samples = field(checkpoint, "random_samples", int64_t{1});
  const auto image = field(checkpoint, "image", std::vector<int64_t>{1, 28, 28});
  if (image.size() != 3) {
    fail_request("{}: expected an image of 3 extents in the header, found {}",
                 checkpoint.file().string(), image.size());
  }
  description.open.seed = static_cast<uint64_t>(description.seed);
  description.class_names = field(checkpoint, "class_names", std::vector<std::string>{"0", "1"});
  // Checkpoints of before do not say what columns were called.
  description.open.trained = {
      .image = {image[0], image[1], image[2]},
      .columns = checkpoint.meta().contains("columns")
                     ? field(checkpoint, "columns", std::vector<std::string>{"age", "income"})
                     : std::vector<std::string>(),
      .classes = description.class_names};
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
  read_task(checkpoint, description);
  options.channels = image[0];
  options.height = image[1];
  options.width = image[2];
  options.training = false;
  options.dtype =
      field(checkpoint, "precision", std::string("f32")) == "bf16" ? DType::bf16 : DType::f32;
  return description;
}

}  // namespace syrtos::train
