#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/strategy/replica.h"

namespace syrtos::strategy {

/// What a worker goes back to when another one is lost in the middle of a step: then some buckets
/// have the step's update, and others have not.
///
///   in some steps, before the update of a bucket:  copy its weights and what goes with them
///   to go back:  where all buckets have the same updates, nothing is to be done; else the copies
///                take the place of what was updated since
///
/// One copy is enough: when a step copies its first bucket, all have the update of the step before,
/// and those that it has not copied yet it has not updated either. Copies are made so often that
/// they take about a hundredth of the time: of small networks in every step.
class Undo {
 public:
  /// Both outlive it. `copies`: false where nobody goes back.
  Undo(Replica& replica, bool copies);

  /// The world's thread: the pass of this step is about to begin.
  void begin_step(int64_t step);
  /// The same thread, then: buckets are copied before this step's updates, if it is time to.
  void copy_in_this_step();
  /// The pool: takes the step's update of one bucket, or of all.
  void update(int bucket, int64_t step, const optim::Hyper& hyper);
  void update_all(int64_t step, const optim::Hyper& hyper);
  /// The pool: copies all buckets as they are after so many steps, if it is time to.
  void copy_all(int64_t steps_done);
  /// The pool, when nothing else runs any more: brings the replica back to the end of a step.
  /// Returns how many steps are done then; nothing when no copy can do that.
  std::optional<int64_t> go_back();
  /// The same to the last copy, whatever was updated since.
  std::optional<int64_t> go_back_to_copy();

  /// The step that the copies are of, which may be long ago; -1: there are none.
  int64_t copied() const { return copied_; }

  /// Bytes that it keeps of a replica with so many weights and kept arenas.
  static int64_t bytes(int64_t weights, int64_t kept) { return weights * (1 + kept) * 4; }

 private:
  using Arena = std::vector<float>;

  bool is_due(int64_t step) const;
  void begin_copy(int64_t step);
  void copy(int bucket);
  void bring_back(size_t bucket);

  Replica& replica_;
  const bool copies_;
  std::vector<Floats> live_;                // weights, and what goes with them
  std::vector<Arena> kept_;                 // copies of these
  std::vector<int64_t> versions_;           // steps done, of each bucket
  std::vector<int64_t> copied_in_;          // the step before whose update each bucket was copied
  int64_t pass_ = -1;                       // that began last
  std::atomic<int64_t> copying_ = -1;       // the step in which buckets are copied
  std::atomic<size_t> buckets_copied_ = 0;  // in it
  std::atomic<int64_t> copied_ = -1;        // the step that the copies are of
  std::atomic<int64_t> nanoseconds_ = 0;    // that this took
  Clock::time_point began_;                 // it
  Arena states_;                            // before the pass
  Arena states_before_;                     // before the one before it
  Arena states_copying_, states_copied_;    // before those two steps
};

}  // namespace syrtos::strategy
