#include "syrtos/train/network/learner.h"

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/data/patches.h"

namespace syrtos::train {

namespace {

CompiledNetwork make_network(const Job& job, int worker, const TrainerOptions& options,
                             const graph::Parameters* shared) {
  // With fewer samples than workers a share can be empty; the program still has a size.
  const int64_t share = std::max<int64_t>(1, job.share(worker));
  return {
      job.network, job.model_options(share), CompiledNetwork::Use::both, job.short_share(worker),
      shared,      options.backend};
}

std::shared_ptr<optim::Optimizer> make_optimizer(const Job& job, const CompiledNetwork& network) {
  return std::make_shared<optim::Optimizer>(job.optimizer, network.parameters().weights().size());
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
  if (job.lookahead > 0) {
    lookahead_.emplace(optim::Lookahead::Options{.every = job.lookahead},
                       network_.parameters().weights().size());
  }
}

void Learner::initialize(const Job& job) {
  const std::optional<Shape> patch = nn::needs_patches(network_.model());
  if (patch && !job.random_data) {
    const nn::PatchCovariance patches{
        (*patch)[0], (*patch)[1], (*patch)[2],
        data::patch_covariance(*job.data.train, job.normalization, (*patch)[1], (*patch)[2])};
    network_.initialize(job.seed, &patches);
  } else {
    network_.initialize(job.seed);
  }
  if (lookahead_) lookahead_->start(network_.parameters().weights());
}

std::vector<KeptArena> Learner::kept() const {
  std::vector<KeptArena> arenas;
  for (const auto& slot : optimizer_->slots()) arenas.push_back({slot.name, slot.span()});
  if (lookahead_) arenas.push_back({"slow", lookahead_->slow()});
  return arenas;
}

int64_t Learner::bytes() const {
  int64_t bytes = network_.bytes();
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
