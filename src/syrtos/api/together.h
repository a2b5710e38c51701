#pragma once

#include <string>

#include "syrtos/api/slot_choice.h"

namespace syrtos::api {

/// Two ways to train an ensemble on this machine: its members side by side in one program, or each
/// as a run of its own, several at once.
struct TogetherChoice {
  double together_samples_per_s = 0;  ///< of all members; 0: they do not stand side by side
  int threads = 1;                    ///< with which that was
  std::string why_not = {};           ///< they do not
  SlotChoice apart = {};              ///< each by itself

  /// Better by enough to be worth the same order of samples for all members.
  bool is_better() const { return together_samples_per_s > 1.1 * apart.best.samples_per_s; }
};

/// Trains random samples for half a second in each way. Throws nothing because of a network that
/// does not stand side by side.
TogetherChoice measure_together(const job::Job& job, int64_t members,
                                const Surroundings& surroundings);

/// A line for people.
std::string to_string(const TogetherChoice& choice, int64_t members);

}  // namespace syrtos::api
