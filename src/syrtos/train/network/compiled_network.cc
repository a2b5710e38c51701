#include "syrtos/train/network/compiled_network.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/memory.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/cpu/backend.h"

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

void NetworkProgram::use(const data::Batch& batch) { use(batch, 0, batch.slice.count); }

void NetworkProgram::use(const data::Batch& batch, int64_t first, int64_t count) {
  SYRTOS_CHECK(count <= batch_, "{} samples for {}", count, batch_);
  const graph::Program::Placed& images = program_->input("images");
  const size_t sample = static_cast<size_t>(images.type.bytes() / batch_);
  program_->move_input("images",
                       static_cast<std::byte*>(batch.images) + static_cast<size_t>(first) * sample);
  const auto labels = batch.labels.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
  std::copy(labels.begin(), labels.end(), static_cast<int32_t*>(program_->input("labels").data));
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
                                 std::shared_ptr<ops::Backend> backend, int64_t layouts_of,
                                 NetworkDivision division)
    : network_(std::move(network)),
      options_(options),
      backend_(backend ? std::move(backend) : ops::cpu::make_backend()),
      parameters_(std::make_shared<graph::Parameters>()),
      division_(std::move(division)) {
  if (shared != nullptr) parameters_->share_weights(*shared);
  options.training = use != Use::evaluation;
  model_ = network_.build(options);
  if (layouts_of > 0 && (layouts_of != options.batch || !division_.layers.empty())) {
    // Undivided: so all workers find the same, whatever their parts are.
    compiled(training_graph(layouts_of, {}), *backend_, parameters_);
  }
  if (use != Use::evaluation) {
    whole_batch_ = &training(options.batch, division_.batch_of_all);
  }
  if (short_batch > 0 && division_.layers.empty()) training(short_batch, short_batch);
  if (use != Use::training) {
    options.training = false;
    nn::Model model = network_.build(options);
    graph::recognise(model.graph);
    evaluation_ = compiled(std::move(model.graph), *backend_, parameters_);
  }
}

CompiledNetwork::Size CompiledNetwork::size_of(int64_t samples, int64_t of_all) const {
  return {samples, division_.layers.empty() ? 0 : of_all};
}

graph::Graph CompiledNetwork::training_graph(int64_t samples,
                                             const graph::ColumnSplit& split) const {
  nn::ModelOptions options = options_;
  options.training = true;
  options.batch = samples;
  nn::Model model = network_.build(options);
  graph::recognise(model.graph);
  graph::split_columns(model.graph, split);
  graph::add_gradients(model.graph, model.loss);
  return std::move(model.graph);
}

void CompiledNetwork::compile_training(const Size& size) {
  graph::ColumnSplit split{division_.layers, division_.worker, {}};
  if (!split.layers.empty()) {
    const int64_t of_all = size.second;
    for (int worker = 0; worker < division_.workers; ++worker) {
      const data::Shard shard{worker, division_.workers};
      split.rows.push_back(
          data::slice_of(of_all, 0, of_all, shard, data::Remainder::short_batch).count);
    }
  }
  training_.emplace(size, compiled(training_graph(size.first, split), *backend_, parameters_));
}

NetworkProgram& CompiledNetwork::training(int64_t samples, int64_t of_all) {
  const Size size = size_of(samples, of_all);
  if (!training_.contains(size)) compile_training(size);
  return training_.at(size);
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

void require_memory(int64_t bytes, std::string_view what, int processes) {
  if (processes > 1 && bytes > memory_limit() / processes) {
    fail_request(
        "not enough memory for {}: {} ranks of this machine need {} each, it has {} for all of "
        "them; use fewer ranks on it, a smaller --batch, a smaller network or --precision bf16",
        what, processes, format_bytes(static_cast<double>(bytes)),
        format_bytes(static_cast<double>(memory_limit())));
  }
  const int64_t free = free_memory();
  if (bytes <= free) return;
  fail_request(
      "not enough memory for {}: needs {}, this machine has {} free; use a smaller --batch, "
      "a smaller network or --precision bf16",
      what, format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(free)));
}

}  // namespace syrtos::train
