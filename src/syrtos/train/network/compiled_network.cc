#include "syrtos/train/network/compiled_network.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/memory.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/onednn/backend.h"

namespace syrtos::train {

namespace {

NetworkProgram compiled(graph::Graph graph, ops::Backend& backend,
                        const std::shared_ptr<graph::Parameters>& parameters) {
  graph::optimise(graph);
  try {
    return {graph, backend, parameters};
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

CompiledNetwork::CompiledNetwork(nn::Network network, nn::ModelOptions options, Use use,
                                 int64_t short_batch, const graph::Parameters* shared,
                                 std::shared_ptr<ops::Backend> backend)
    : network_(std::move(network)),
      options_(options),
      backend_(backend ? std::move(backend) : ops::onednn::make_backend()),
      parameters_(std::make_shared<graph::Parameters>()) {
  if (shared != nullptr) parameters_->share_weights(*shared);
  options.training = use != Use::evaluation;
  model_ = network_.build(options);
  if (use != Use::evaluation) compile_training(options.batch);
  if (short_batch > 0) compile_training(short_batch);
  if (use != Use::training) {
    options.training = false;
    evaluation_ = compiled(network_.build(options).graph, *backend_, parameters_);
  }
}

void CompiledNetwork::compile_training(int64_t samples) {
  nn::ModelOptions options = options_;
  options.training = true;
  options.batch = samples;
  nn::Model model = network_.build(options);
  graph::add_gradients(model.graph, model.loss);
  training_.emplace(samples, compiled(std::move(model.graph), *backend_, parameters_));
}

NetworkProgram& CompiledNetwork::training(int64_t samples) {
  if (!training_.contains(samples)) compile_training(samples);
  return training_.at(samples);
}

void CompiledNetwork::initialize(uint64_t seed, const nn::PatchCovariance* patches) {
  nn::initialize_parameters(model_, seed, *parameters_, patches);
}

int64_t CompiledNetwork::bytes() const {
  size_t total = parameters_->weights().size_bytes() + parameters_->gradients().size_bytes() +
                 parameters_->working().size_bytes() + parameters_->state().size_bytes();
  for (const auto& [samples, training] : training_) total += training.program().arena_bytes();
  if (evaluation_) total += evaluation_->program().arena_bytes();
  return static_cast<int64_t>(total);
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
