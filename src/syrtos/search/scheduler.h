#pragma once

#include <functional>
#include <optional>

#include "syrtos/search/ledger.h"
#include "syrtos/search/plan.h"
#include "syrtos/search/sampler.h"

namespace syrtos::search {

/// What a free slot is to do.
struct Decision {
  enum class Kind {
    begin,  ///< a new trial at `point`
    go_on,  ///< with `trial`
    wait,   ///< nothing until another one ends
    over,   ///< nothing any more
  };
  Kind kind = Kind::over;
  int trial = 0;
  Point point = {};
  int64_t until = 0;  ///< epochs; 0: to its end
};

/// Decides what is trained next, from what has happened alone: the same ledger gives the same
/// answer, and nothing else is remembered. Halving is asynchronous (Li et al., "A system for
/// massively parallel hyperparameter tuning", 2020): whenever a slot is free, the best trial is let
/// go on that belongs to the best 1/N of all that have come as far as it has, of those that came
/// furthest; if there is none, a new one begins. So nobody waits for the slowest of a round.
class Scheduler {
 public:
  explicit Scheduler(const Plan& plan);

  /// Whether a trial may go on where the slot is.
  using May = std::function<bool(const Trial&)>;
  Decision next(const Ledger& ledger, const May& may_go_on) const;

  /// The best of a running trial is worse than the median of what the others' best was at its
  /// epoch.
  bool is_hopeless(const Ledger& ledger, const Trial& trial) const;

  /// Trials that there will be at most; 0: as many as the other limits allow.
  int64_t trials() const { return trials_; }

 private:
  std::optional<Decision> promote(const Ledger& ledger, const May& may_go_on) const;
  /// The best of those that wait, if otherwise none is ever trained to its end.
  std::optional<Decision> finish_one(const Ledger& ledger, const May& may_go_on) const;
  /// The limit of epochs leaves so many.
  bool leaves(const Ledger& ledger, int64_t epochs) const;
  int64_t epochs_of(const Trial& trial) const;
  int64_t until_of(size_t rung) const;

  const Plan& plan_;
  const Sampler sampler_;
  const std::vector<int64_t> rungs_;
  int64_t trials_ = 0;
};

}  // namespace syrtos::search
