#include "syrtos/train/network/compiled_network.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/memory.h"
#include "syrtos/graph/partition.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::train {

namespace {

/// What is evaluated has classes, and nobody to teach it.
nn::Task without_shares(nn::Task task) {
  task.mixed = false;
  task.teaching = {};
  return task;
}

}  // namespace

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
    compile(training_graphs(layouts_of, {}), options_.task, layouts_of);
  }
  if (use != Use::evaluation) {
    whole_batch_ = &training(options.batch, division_.batch_of_all);
  }
  if (short_batch > 0 && division_.layers.empty() && !division_.in_pieces()) {
    training(short_batch, short_batch);
  }
  if (use != Use::training) {
    const nn::Task whole = without_shares(options_.task);
    evaluation_ = compile(evaluation_graphs(), whole, options.batch);
  }
}

CompiledNetwork::Size CompiledNetwork::size_of(int64_t samples, int64_t of_all) const {
  return {samples, division_.layers.empty() ? 0 : of_all};
}

/// Those that this worker has, the last first: its gradients are finished first.
std::vector<graph::Graph> CompiledNetwork::own_pieces(graph::Graph whole,
                                                      const std::vector<int>& piece_of) const {
  std::vector<graph::Graph> own;
  if (!division_.in_pieces()) {
    own.push_back(std::move(whole));
    return own;
  }
  std::vector<graph::Graph> all = graph::partition(whole, piece_of, division_.placement.pieces);
  for (size_t i = pieces(); i-- > 0;) {
    own.push_back(std::move(all[static_cast<size_t>(division_.pieces[i])]));
  }
  return own;
}

std::vector<graph::Graph> CompiledNetwork::training_graphs(int64_t samples,
                                                           const graph::ColumnSplit& split) const {
  nn::ModelOptions options = options_;
  options.training = true;
  options.batch = samples;
  nn::Model model = network_.build(options);
  graph::recognise(model.graph);
  graph::split_columns(model.graph, split);
  std::vector<int> piece_of;
  if (division_.in_pieces()) piece_of = pieces_of(model.graph, division_.placement);
  const std::vector<graph::NodeId> origins = graph::add_gradients(model.graph, model.loss);
  if (division_.in_pieces()) piece_of = graph::with_gradients(piece_of, origins);
  return own_pieces(std::move(model.graph), piece_of);
}

std::vector<graph::Graph> CompiledNetwork::evaluation_graphs() const {
  nn::ModelOptions options = options_;
  options.training = false;
  options.task = without_shares(options.task);
  nn::Model model = network_.build(options);
  graph::recognise(model.graph);
  std::vector<int> piece_of;
  if (division_.in_pieces()) piece_of = pieces_of(model.graph, division_.placement);
  return own_pieces(std::move(model.graph), piece_of);
}

/// Programs in the order of the pieces, whose graphs come the last first.
std::vector<NetworkProgram> CompiledNetwork::compile(std::vector<graph::Graph> graphs,
                                                     const nn::Task& task, int64_t samples) {
  for (graph::Graph& graph : graphs) graph::optimise(graph);
  std::vector<std::unique_ptr<graph::Program>> compiled;
  try {
    compiled =
        graph::compile(graphs, *backend_, parameters_, division_.in_pieces() ? &passing_ : nullptr);
  } catch (const RunError& error) {
    // Nothing has been started yet: the request was too large for this machine.
    throw RequestError(error.what());
  }
  std::vector<NetworkProgram> programs;
  for (size_t i = graphs.size(); i-- > 0;) {
    programs.emplace_back(graphs[i], std::move(compiled[i]), task, samples);
  }
  return programs;
}

graph::ColumnSplit CompiledNetwork::columns_of(const Size& size) const {
  graph::ColumnSplit split{division_.layers, division_.worker, {}};
  if (split.layers.empty()) return split;
  const int64_t of_all = size.second;
  for (int worker = 0; worker < division_.workers; ++worker) {
    const data::Shard shard{worker, division_.workers};
    split.rows.push_back(
        data::slice_of(of_all, 0, of_all, shard, data::Remainder::short_batch).count);
  }
  return split;
}

NetworkProgram& CompiledNetwork::training(int64_t samples, int64_t of_all,
                                          const Instance& instance) {
  const Size size = size_of(samples, of_all);
  const Key key{size, instance};
  if (!training_.contains(key)) {
    std::vector<NetworkProgram> programs =
        compile(training_graphs(samples, columns_of(size)), options_.task, samples);
    for (size_t piece = 0; piece < programs.size(); ++piece) {
      training_.emplace(Key{size, {piece, instance.slot}}, std::move(programs[piece]));
    }
  }
  return training_.at(key);
}

bool CompiledNetwork::has_images() const {
  return std::any_of(training_.begin(), training_.end(),
                     [](const auto& entry) { return entry.second.has_images(); });
}

void CompiledNetwork::initialize(uint64_t seed, const nn::PatchCovariance* patches) {
  nn::initialize_parameters(model_, seed, *parameters_, patches);
}

int64_t CompiledNetwork::bytes() const {
  size_t total = parameters_->weights().size_bytes() + parameters_->gradients().size_bytes() +
                 parameters_->working().size_bytes() + parameters_->state().size_bytes();
  for (const auto& [key, training] : training_) total += training.program().arena_bytes();
  for (const NetworkProgram& one : evaluation_) total += one.program().arena_bytes();
  if (passing_) total += passing_->size();
  return static_cast<int64_t>(total);
}

void require_memory(int64_t bytes, std::string_view what, int processes) {
  if (processes > 1 && bytes > memory_limit() / processes) {
    fail_request(
        "not enough memory for {}: {} ranks of this machine need {} each, it has {} for all of "
        "them; use fewer ranks on it, a smaller --input or --batch, a smaller network or "
        "--precision bf16",
        what, processes, format_bytes(static_cast<double>(bytes)),
        format_bytes(static_cast<double>(memory_limit())));
  }
  const int64_t free = free_memory();
  if (bytes <= free) return;
  fail_request(
      "not enough memory for {}: needs {}, this machine has {} free; use a smaller --input or "
      "--batch, a smaller network or --precision bf16",
      what, format_bytes(static_cast<double>(bytes)), format_bytes(static_cast<double>(free)));
}

}  // namespace syrtos::train
