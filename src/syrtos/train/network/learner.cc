#include "syrtos/train/network/learner.h"

#include <algorithm>

#include <fmt/format.h>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/patches.h"
#include "syrtos/graph/passes.h"
#include "syrtos/strategy/columns.h"
#include "syrtos/train/network/starting_weights.h"

namespace syrtos::train {

namespace {

int64_t largest_micro_batch(const Job& job) {
  int64_t largest = 0;
  for (int worker = 0; worker < job.workers; ++worker) {
    largest = std::max(largest, job.micro_batch(worker));
  }
  return largest;
}

/// The pieces of the network that the worker has.
NetworkDivision pieces_of(const Job& job, int worker) {
  NetworkDivision division;
  division.placement = job.placement;
  division.workers = job.replicas();
  division.pieces.clear();
  for (int piece = job.part_of(worker); piece < job.placement.pieces;
       piece += job.strategy.split.parts) {
    division.pieces.push_back(piece);
  }
  return division;
}

/// The large dense layers, whose columns the workers divide between them: the same on each.
NetworkDivision division_of(const Job& job, int worker, const nn::ModelOptions& options) {
  if (job.strategy.split.cuts()) return pieces_of(job, worker);
  NetworkDivision division;
  if (!job.strategy.splits_columns() || job.workers == 1) return division;
  division.worker = worker;
  division.workers = job.workers;
  division.batch_of_all = job.step_samples() / job.accumulate;
  nn::Model model = job.network.build(options);
  graph::recognise(model.graph);
  double most = 0;
  for (const graph::DenseLayer& layer : graph::dense_layers(model.graph)) {
    const strategy::DenseShape shape{static_cast<size_t>(layer.inputs),
                                     static_cast<size_t>(layer.outputs), size_of(layer.dtype)};
    const auto samples = static_cast<size_t>(division.batch_of_all);
    most = std::max(most, strategy::bytes_by_all_reduce(shape, job.workers) /
                              strategy::bytes_by_columns(shape, samples, job.workers));
    if (!strategy::worth_columns(shape, samples, job.workers)) continue;
    const std::vector<size_t> shares = strategy::column_shares(shape.outputs, job.workers);
    division.layers.push_back({layer.weight, {shares.begin(), shares.end()}, layer.bias});
  }
  if (division.layers.empty()) {
    fail_request(
        "--split columns: {} has no dense layer whose gradients are worth dividing: {}; leave it "
        "out",
        job.network.name(),
        most > 0 ? fmt::format("they are {:.2g} times the activations that would cross for {} "
                               "workers with {} samples, and 2 is the least",
                               most, job.workers, division.batch_of_all)
                 : "it has none");
  }
  return division;
}

CompiledNetwork make_network(const Job& job, int worker, const TrainerOptions& options,
                             const graph::Parameters* shared) {
  const int64_t micro = job.micro_batch(worker);
  nn::ModelOptions model = job.model_options(micro);
  model.frozen = frozen_names(job.freeze, job.network, model);
  const int64_t last = job.short_share(worker);
  return {job.network,
          model,
          CompiledNetwork::Use::both,
          job.accumulate > 1 ? last % micro : last,
          shared,
          options.backend,
          largest_micro_batch(job),
          division_of(job, worker, model)};
}

std::shared_ptr<optim::Optimizer> make_optimizer(const Job& job, const CompiledNetwork& network) {
  return std::make_shared<optim::Optimizer>(job.optimizer, network.parameters().weights().size());
}

/// Parameters and states that this worker has.
std::vector<weights::Entry> entries_of(const RunTensors& own) {
  std::vector<weights::Entry> entries;
  for (size_t i = 0; i < own.of_network(); ++i) {
    const NamedShape& one = own.all()[i];
    entries.push_back({one.key.substr(one.key.find('/') + 1), one.shape});
  }
  return entries;
}

/// What stays as it is, for people; empty: nothing.
std::string frozen_text(const graph::Parameters& parameters) {
  int64_t frozen = 0;
  std::vector<std::string> trained;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    if (slot.rate == 0) {
      frozen += slot.type.shape.elements();
    } else {
      trained.push_back(slot.name);
    }
  }
  if (frozen == 0) return {};
  constexpr size_t kNamed = 4;
  return fmt::format("frozen: {} of {} parameters; trained: {}", format_count(frozen),
                     format_count(parameters.count()),
                     trained.size() <= kNamed ? fmt::format("{}", fmt::join(trained, ", "))
                                              : fmt::format("{} tensors", trained.size()));
}

}  // namespace

Learner::Learner(const Job& job, int worker, const TrainerOptions& options, const Learner* sharing)
    : network_(
          make_network(job, worker, options, sharing ? &sharing->network_.parameters() : nullptr)),
      optimizer_(sharing ? sharing->optimizer_ : make_optimizer(job, network_)) {
  if (nn::needs_patches(network_.model()) && job.augment.resized_crop > 0) {
    fail_request(
        "--augment: {} starts from patches of the training images as they are, which "
        "resized-crop changes: use crop instead",
        job.network.name());
  }
  if (const std::string frozen = frozen_text(network_.parameters()); !frozen.empty()) {
    weights_.push_back(frozen);
  }
  if (job.accumulate > 1) {
    accumulated_ = Buffer(network_.parameters().gradients().size_bytes(), "the sums of gradients");
  }
  if (job.lookahead > 0) {
    lookahead_.emplace(optim::Lookahead::Options{.every = job.lookahead},
                       network_.parameters().weights().size());
  }
}

void Learner::draw(const Job& job) {
  const std::optional<Shape> patch = nn::needs_patches(network_.model());
  if (patch && !job.random_data) {
    const nn::PatchCovariance patches{
        (*patch)[0], (*patch)[1], (*patch)[2],
        data::patch_covariance(*job.data.train, job.normalization, (*patch)[1], (*patch)[2])};
    network_.initialize(job.seed, &patches);
  } else {
    network_.initialize(job.seed);
  }
}

std::unique_ptr<TensorSource> Learner::initialize(const Job& job) {
  draw(job);
  std::unique_ptr<StartingWeights> source;
  if (!job.weights.empty()) {
    const std::set<std::string> head = head_of(job.network, job.model_options(2));
    RunTensors own = tensors();
    source = std::make_unique<StartingWeights>(
        job.weights, head,
        network_.division().in_pieces() ? entries_of(network_.model()) : entries_of(own));
    for (size_t i = 0; i < own.of_network(); ++i) {
      if (const std::optional<Tensor> found = source->find(own.all()[i])) own.set(i, *found);
    }
    weights_.insert(weights_.begin(), source->about());
  }
  begin_lookahead();
  return source;
}

void Learner::begin_lookahead() {
  if (lookahead_) lookahead_->start(network_.parameters().weights());
}

std::vector<KeptArena> Learner::kept() const {
  std::vector<KeptArena> arenas;
  for (const auto& slot : optimizer_->slots()) arenas.push_back({slot.name, slot.span()});
  if (lookahead_) arenas.push_back({"slow", lookahead_->slow()});
  return arenas;
}

int64_t Learner::bytes() const {
  int64_t bytes = network_.bytes() + static_cast<int64_t>(accumulated_.size());
  for (const KeptArena& arena : kept()) bytes += static_cast<int64_t>(arena.values.size_bytes());
  return bytes;
}

bool Learner::looks_ahead(int64_t steps_done) const {
  return lookahead_ && lookahead_->due(steps_done);
}

void Learner::look_ahead(int64_t steps_done, int64_t total_steps) {
  const graph::Parameters& parameters = network_.parameters();
  lookahead_->update(parameters.weights(), parameters.working(),
                     lookahead_->decay(steps_done, total_steps));
}

}  // namespace syrtos::train
