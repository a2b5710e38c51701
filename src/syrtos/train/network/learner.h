#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "syrtos/job/job.h"
#include "syrtos/optim/lookahead.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/network/compiled_network.h"
#include "syrtos/train/trainer_options.h"

namespace syrtos::train {

using job::Job;

/// What is trained: a network, its optimiser, and what goes with the weights.
class Learner {
 public:
  /// Builds and compiles one worker's network. `sharing`: another worker of this process, whose
  /// weights and optimiser it uses too. Throws RequestError.
  Learner(const Job& job, int worker, const TrainerOptions& options, const Learner* sharing);

  /// The starting weights. Throws RequestError when those of a file cannot be had; returns them,
  /// for workers that have other parts of the network; nullptr: all are drawn.
  std::unique_ptr<TensorSource> initialize(const Job& job);
  /// Those that are drawn, alone.
  void draw(const Job& job);
  /// The slow weights are what the weights are now.
  void begin_lookahead();
  /// What the weights start from and which of them stay, a line each, for people.
  const std::vector<std::string>& about_weights() const { return weights_; }

  CompiledNetwork& network() { return network_; }
  const CompiledNetwork& network() const { return network_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  /// What is kept with the weights, one value for each.
  std::vector<KeptArena> kept() const;
  /// All that a run has to keep of it.
  RunTensors tensors() { return {network_.parameters(), kept()}; }
  /// With --accumulate: memory for the gradients of the micro-batches so far; else empty.
  std::span<float> accumulated() { return {accumulated_.as<float>(), accumulated_.size() / 4}; }
  /// Memory of arenas, parameters and the optimiser.
  int64_t bytes() const;

  /// Whether the weights are brought together with their slow copies after so many steps.
  bool looks_ahead(int64_t steps_done) const;
  void look_ahead(int64_t steps_done, int64_t total_steps);

 private:
  CompiledNetwork network_;
  std::shared_ptr<optim::Optimizer> optimizer_;
  Buffer accumulated_;
  std::optional<optim::Lookahead> lookahead_;
  std::vector<std::string> weights_;
};

}  // namespace syrtos::train
