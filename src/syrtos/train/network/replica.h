#pragma once

#include <map>
#include <optional>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/graph/pass_parts.h"
#include "syrtos/optim/clip.h"
#include "syrtos/strategy/compute_times.h"
#include "syrtos/strategy/replica.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/measure/kernel_times.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

/// How each tensor lies in the arenas and is trained.
std::vector<optim::Segment> tensors_of(const graph::Parameters& parameters);

/// A network as its strategy sees it.
class NetworkReplica final : public strategy::Replica {
 public:
  /// All outlive it. `kept` as in snapshot.h.
  NetworkReplica(CompiledNetwork& network, optim::Optimizer& optimizer, strategy::Layout layout,
                 std::vector<KeptArena> kept);

  /// The next pass takes so many samples, which the program of that size has been given. With none
  /// its gradient is 0.
  void begin(int64_t samples, const ops::Step& step);
  /// Passes take the times that were measured elsewhere and compute nothing. Throws RequestError
  /// when they are of another network.
  void replay(const strategy::ComputeTimes& times);
  bool replays() const { return replay_.has_value(); }

  const strategy::Layout& layout() const override { return layout_; }
  const std::vector<strategy::Stage>& stages() const override;
  void run(size_t stage) override;
  strategy::Floats weights() override;
  strategy::Floats gradients() override;
  strategy::Floats states() override;
  std::vector<strategy::Floats> kept() override;
  void update(size_t first, size_t count, const optim::Hyper& hyper) override;
  double update_seconds(size_t count) const override;
  int64_t updates() const override { return optimizer_.updates(); }
  void weights_changed(size_t first, size_t count) override;
  double gradient_norm() override;
  double forward_share(size_t stage) const override;

  /// Of the kernels of passes over whole batches.
  KernelTimes& profile() { return profile_; }

 private:
  /// The stages of one program.
  struct StagedProgram {
    std::vector<graph::PassPart> parts;
    std::vector<strategy::Stage> stages;
    std::vector<graph::PhaseTimes> replayed;  ///< of each, when they are not computed
  };
  const StagedProgram& staged(NetworkProgram& program);
  void sleep_through(double seconds);

  CompiledNetwork& network_;
  optim::Optimizer& optimizer_;
  strategy::Layout layout_;
  std::vector<optim::Segment> segments_;  // of an update; kept, so that a step allocates nothing
  std::vector<KeptArena> kept_;
  optim::GlobalNorm norm_;
  std::map<const graph::Program*, StagedProgram> staged_;
  std::vector<strategy::Stage> empty_pass_;
  NetworkProgram* program_ = nullptr;    // nullptr: no samples
  const StagedProgram* pass_ = nullptr;  // of program_
  ops::Step step_;
  std::vector<graph::PhaseTimes> times_;  // of the pass's stages
  KernelTimes profile_;
  std::optional<strategy::ComputeTimes> replay_;
  double late_s_ = 0;  // so much too late the last sleep ended
  Clock::time_point slept_until_;
};

}  // namespace syrtos::train
