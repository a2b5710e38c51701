#pragma once

#include <memory>
#include <optional>
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

  /// The starting weights.
  void initialize(const Job& job);

  CompiledNetwork& network() { return network_; }
  const CompiledNetwork& network() const { return network_; }
  optim::Optimizer& optimizer() { return *optimizer_; }
  /// What is kept with the weights, one value for each.
  std::vector<KeptArena> kept() const;
  /// Memory of arenas, parameters and the optimiser.
  int64_t bytes() const;

  /// Whether the weights are brought together with their slow copies after so many steps.
  bool looks_ahead(int64_t steps_done) const;
  void look_ahead(int64_t steps_done, int64_t total_steps);

 private:
  CompiledNetwork network_;
  std::shared_ptr<optim::Optimizer> optimizer_;
  std::optional<optim::Lookahead> lookahead_;
};

}  // namespace syrtos::train
