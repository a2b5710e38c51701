#pragma once

#include <vector>

#include "syrtos/collective/collective.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/strategy/layout.h"

namespace syrtos::strategy {

using collective::Floats;

/// Bytes of one memory that cross between workers at the same time; no data where sizes are
/// simulated.
struct BlockMove {
  void* memory = nullptr;
  collective::Round round = {};
};

/// Bytes that come from another part of the network, or leave for it; no data where sizes are
/// simulated. Messages of a lane follow each other, in the order of both sides' stages.
struct PartMessage {
  int part = 0;       ///< the other one
  uint16_t lane = 0;  ///< the same on both sides
  int buffer = 0;     ///< of the lane's: one that is used again is waited for
  void* memory = nullptr;
  size_t bytes = 0;
};

/// A part of a training pass: it can run when the weights it needs are there, and after it the
/// gradients of some buckets are final.
struct Stage {
  std::vector<int> needs;  ///< buckets
  std::vector<int> finishes;
  double seconds = 0;  ///< that it takes where time is simulated
  /// What is added up over all workers before the next stage.
  std::vector<collective::Floats> sums = {};
  /// What crosses between workers, one after the other, before the next stage.
  std::vector<BlockMove> blocks = {};
  /// What comes from other parts of the network before it, and leaves for them after it.
  std::vector<PartMessage> arrives = {};
  std::vector<PartMessage> leaves = {};
  int micro = 0;  ///< the micro-batch that it computes
};

/// What one worker trains, as its strategy sees it: arenas of weights and gradients, and a pass in
/// stages. It is a network, or in a simulated world its sizes and times. run, update,
/// weights_changed and gradient_norm compute and are called on the pool; the others return what is
/// known and are called on the world's thread.
class Replica {
 public:
  virtual ~Replica() = default;

  virtual const Layout& layout() const = 0;
  /// The stages of the pass that comes next.
  virtual const std::vector<Stage>& stages() const = 0;
  virtual void run(size_t stage) = 0;
  /// The share of the time that this stage took, when it ran last, before the loss was known. May
  /// be asked while the next stage runs.
  virtual double forward_share(size_t stage) const {
    return stages()[stage].finishes.empty() ? 1 : 0;
  }

  /// The arenas have no data where only sizes are simulated.
  virtual Floats weights() = 0;
  virtual Floats gradients() = 0;
  /// Running statistics: not trained, but part of the model.
  virtual Floats states() = 0;
  /// What the optimiser keeps, such as momentum: arenas like the weights'.
  virtual std::vector<Floats> kept() = 0;

  /// Takes the optimiser's step on these elements.
  virtual void update(size_t first, size_t count, const optim::Hyper& hyper) = 0;
  virtual double update_seconds(size_t count) const = 0;
  /// Updates so far by all whose weights are in the same memory.
  virtual int64_t updates() const { return 0; }
  /// The weights came from elsewhere: whatever is derived from them is made anew.
  virtual void weights_changed(size_t first, size_t count) = 0;
  /// L2 norm of the gradients.
  virtual double gradient_norm() = 0;
};

inline Floats part(const Floats& all, size_t first, size_t count) {
  return {all.data == nullptr ? nullptr : all.data + first, count};
}

}  // namespace syrtos::strategy
