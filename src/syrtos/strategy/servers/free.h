#pragma once

#include <memory>
#include <vector>

#include "syrtos/strategy/servers/policy.h"

namespace syrtos::strategy {

/// What the policies have in common where workers do not wait for all others (async, ssp, backup).
///
///   for each worker and piece, for each round:
///     receive what the worker wants
///     a step:        receive its gradient, take() it, send the weights as they are then
///     an agreement:  send the weights of that agreement, exactly, the same to all
///     rest:          nobody need wait for this worker until it asks again
///
/// A worker that has no samples in a step brings nothing: it only gets the weights, and neither
/// decay nor momentum moves them for it. A worker that is lost is left out from then on. Without
/// rank 0 nobody evaluates or saves: then the server ends.
class FreePolicy : public ServerPolicy {
 public:
  explicit FreePolicy(const ServerTools& tools);

  Task<> talk(Rank worker, ServedPiece& piece) final;

 protected:
  /// A worker's gradient of a step, as far as it has one (push.weight > 0). It gets the weights
  /// when this is over. Sets what `pull` says about it.
  virtual Task<> take(Rank worker, ServedPiece& piece, const Push& push,
                      const std::vector<float>& gradient, Pull& pull) = 0;
  /// The version that a worker's first push was computed with: a run that was resumed goes on
  /// counting.
  virtual int64_t first_version(const Push& push) const = 0;

  /// A gradient of this worker can still come before the next agreement.
  bool is_active(Rank worker, const ServedPiece& piece) const;
  int64_t active(const ServedPiece& piece) const;
  /// Notified when any of this, or what a policy adds to it, has changed.
  world::Condition& changed(const ServedPiece& piece) { return *states_[piece.index].changed; }

 private:
  struct State {
    std::vector<bool> resting;  ///< workers that bring nothing until all have met
    std::unique_ptr<world::Condition> changed;
    /// What workers agreed on last: a late gradient of a lost worker must not come between them.
    int64_t agreement = 0;
    int64_t agreed_version = 0;
    int64_t copied = 0;  ///< agreement for which the weights were copied
    std::vector<float> agreed_weights;
  };

  Task<> talk_until_lost(Rank worker, ServedPiece& piece);
  static int64_t agree_on(State& state, const ServedPiece& piece, int64_t number);
  void copy_weights(const ServedPiece& piece, const Push& push, std::vector<float>& to);

  std::vector<State> states_;  // of each piece
  std::vector<bool> lost_;     // workers
};

}  // namespace syrtos::strategy
