#include "syrtos/train/network.h"

#include <algorithm>
#include <fstream>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/onednn/backend.h"

namespace syrtos::train {

namespace {

std::optional<NetworkProgram> compiled(graph::Graph graph, ops::Backend& backend,
                                       const std::shared_ptr<graph::Parameters>& parameters) {
  graph::optimise(graph);
  try {
    return NetworkProgram(graph, backend, parameters);
  } catch (const RunError& error) {
    // Nothing has been started yet: the request was too large for this machine.
    throw RequestError(error.what());
  }
}

}  // namespace

NetworkProgram::NetworkProgram(const graph::Graph& graph, ops::Backend& backend,
                               std::shared_ptr<graph::Parameters> parameters)
    : program_(graph::compile(graph, backend, std::move(parameters))) {
  const graph::Program::Placed& images = program_->input("images");
  SYRTOS_CHECK(ops::same_bytes(images.layout, ops::Layout::channels_last(), images.type), "{}",
               images.layout.name());
  const graph::Program::Placed& logits = program_->placed(graph.find("logits"));
  SYRTOS_CHECK(logits.type.dtype == DType::f32 && logits.layout.kind == ops::Layout::Kind::plain,
               "{} {}", to_string(logits.type), logits.layout.name());
  batch_ = logits.type.shape[0];
  classes_ = logits.type.shape[1];
  logits_ = static_cast<const float*>(logits.data);
  own_images_ = images.data;
}

void NetworkProgram::use(const data::Batch& batch) {
  SYRTOS_CHECK(batch.slice.count <= batch_, "{} samples for {}", batch.slice.count, batch_);
  program_->move_input("images", batch.images);
  std::copy(batch.labels.begin(), batch.labels.end(),
            static_cast<int32_t*>(program_->input("labels").data));
}

void* NetworkProgram::use_own_images() {
  program_->move_input("images", own_images_);
  return own_images_;
}

std::span<const float> NetworkProgram::logits() const {
  return {logits_, static_cast<size_t>(batch_ * classes_)};
}

Network::Network(const std::string& name, nn::ModelOptions options, Use use, int64_t short_batch,
                 const graph::Parameters* shared)
    : backend_(ops::onednn::make_backend()), parameters_(std::make_shared<graph::Parameters>()) {
  if (shared != nullptr) parameters_->share_weights(*shared);
  options.training = use != Use::evaluation;
  model_ = nn::build_model(name, options);
  if (use == Use::evaluation) {
    evaluation_ = compiled(model_.graph, *backend_, parameters_);
    return;
  }
  const auto compile_training = [&](const nn::Model& model) {
    graph::Graph graph = model.graph;
    graph::add_gradients(graph, model.loss);
    return compiled(std::move(graph), *backend_, parameters_);
  };
  training_ = compile_training(model_);
  if (short_batch > 0) {
    nn::ModelOptions fewer = options;
    fewer.batch = short_batch;
    short_training_ = compile_training(nn::build_model(name, fewer));
  }
  if (use == Use::both) {
    options.training = false;
    evaluation_ = compiled(nn::build_model(name, options).graph, *backend_, parameters_);
  }
}

NetworkProgram& Network::training(int64_t samples) {
  if (training_->batch() == samples) return *training_;
  SYRTOS_CHECK(short_training_ && short_training_->batch() == samples, "{} samples", samples);
  return *short_training_;
}

void Network::initialize(uint64_t seed, const nn::PatchCovariance* patches) {
  nn::initialize_parameters(model_, seed, *parameters_, patches);
}

int64_t Network::bytes() const {
  size_t total = parameters_->weights().size_bytes() + parameters_->gradients().size_bytes() +
                 parameters_->working().size_bytes() + parameters_->state().size_bytes();
  if (training_) total += training_->program().arena_bytes();
  if (short_training_) total += short_training_->program().arena_bytes();
  if (evaluation_) total += evaluation_->program().arena_bytes();
  return static_cast<int64_t>(total);
}

int64_t free_memory() {
  int64_t free = cpu_info().memory_bytes;
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  for (int64_t kilobytes = 0; meminfo >> key >> kilobytes; meminfo.ignore(64, '\n')) {
    if (key == "MemAvailable:") free = std::min(free, kilobytes * 1024);
  }
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  int64_t limit = 0;
  int64_t used = 0;
  if (limit_file >> limit && used_file >> used) {
    // Pages of files that nobody uses count as used but are given back when memory is wanted.
    std::ifstream stat("/sys/fs/cgroup/memory.stat");
    for (int64_t bytes = 0; stat >> key >> bytes;) {
      if (key == "inactive_file") used -= bytes;
    }
    free = std::min(free, std::max<int64_t>(limit - used, 0));
  }
  return free;
}

void require_memory(int64_t bytes, std::string_view what) {
  const int64_t free = free_memory();
  if (bytes <= free) return;
  fail_request(
      "not enough memory for {}: needs {}, this machine has {} free; use a smaller --batch, "
      "a smaller network or --precision bf16",
      what, format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(free)));
}

}  // namespace syrtos::train
