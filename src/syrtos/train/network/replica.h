#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/optim/clip.h"
#include "syrtos/strategy/replica.h"
#include "syrtos/strategy/step_sums.h"
#include "syrtos/train/checkpoint/snapshot.h"
#include "syrtos/train/measure/kernel_times.h"
#include "syrtos/train/network/replayed_times.h"
#include "syrtos/train/network/staged_pass.h"

namespace syrtos::train {

/// How each tensor lies in the arenas and is trained.
std::vector<optim::Segment> tensors_of(const graph::Parameters& parameters);

/// Batches in micro-batches whose gradients are added up.
struct Accumulation {
  int64_t parts = 1;           ///< micro-batches of a whole batch
  std::span<float> sums = {};  ///< as long as the gradients, where there are several
  /// In which order they go through the parts of a network, and which of them this worker has.
  strategy::Pipeline pipeline = {};
  strategy::Station station = {};
};

/// A network as its strategy sees it.
class NetworkReplica final : public strategy::Replica {
 public:
  /// All outlive it. `kept` as in run_tensors.h. With `accumulation` larger batches than the
  /// network's are taken in micro-batches of its size.
  NetworkReplica(CompiledNetwork& network, optim::Optimizer& optimizer, strategy::Layout layout,
                 std::vector<KeptArena> kept, const Accumulation& accumulation = {});

  /// The next pass is over this batch, whose memory stays until it is over. With no samples its
  /// gradient is 0. All workers take `of_all` samples. Compiles what a new size needs.
  void take(const data::Batch& batch, int64_t of_all);
  void begin(const ops::Step& step);
  /// What the samples of the last pass came to; none where the loss is another part's.
  strategy::Sums sums() const;
  /// Takes the last pass again and looks for infinities and NaN: the first kernel whose output has
  /// one; nullptr when there is none, or when others have parts of the network.
  const graph::Program::Item* find_non_finite();
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
  /// Memory of what crosses between parts.
  int64_t message_bytes() const { return buffers_.bytes(); }

 private:
  using Size = std::pair<int64_t, int64_t>;  ///< own samples, those of all workers
  const StagedPass& staged(const Size& size);
  void replay_times(PassStage& stage) const;
  strategy::Sums sums_of(const PassStage& stage) const;
  ops::Step step_of(const MicroBatch& micro) const;
  void compute(size_t stage);
  void end_stage(size_t stage);
  void sleep_through(double seconds);

  CompiledNetwork& network_;
  optim::Optimizer& optimizer_;
  strategy::Layout layout_;
  std::vector<optim::Segment> segments_;  // of an update; kept, so that a step allocates nothing
  std::vector<KeptArena> kept_;
  optim::GlobalNorm norm_;
  const std::span<float> accumulated_;
  MessageBuffers buffers_;
  PassMaker maker_;
  std::map<Size, StagedPass> staged_;
  std::vector<strategy::Stage> empty_pass_;
  const StagedPass* pass_ = nullptr;  // nullptr: no samples
  data::Batch batch_;
  ops::Step step_;
  strategy::Sums sums_;                   // of the micro-batches that are over, but the last
  const PassStage* last_ = nullptr;       // of which there are none yet
  std::vector<graph::PhaseTimes> times_;  // of the pass's stages
  KernelTimes profile_;
  std::optional<ReplayedTimes> replay_;
  double late_s_ = 0;  // so much too late the last sleep ended
  Clock::time_point slept_until_;
};

}  // namespace syrtos::train
