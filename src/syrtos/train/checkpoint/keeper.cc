#include "syrtos/train/checkpoint/keeper.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "syrtos/base/files.h"

namespace syrtos::train {

namespace {

// At the end of a run, where somebody may be freeing space.
constexpr int kTries = 3;
constexpr auto kPause = std::chrono::seconds(1);

}  // namespace

void Keeper::keep_position(bool must) {
  attempt(must, [this] {
    write_metrics();
    state_.save();
  });
}

/// In this order a run that is killed in between loses nothing: what is noted beyond the last
/// checkpoint is forgotten when it goes on, and resuming makes up for a best one.
void Keeper::keep_epoch(const run::EpochMetrics& metrics, const run::TestScores& scores,
                        bool must) {
  unwritten_.push_back(metrics);
  best_is_owed_ = best_is_owed_ || metrics.best;
  attempt(must, [&] {
    write_metrics();
    if (metrics.best && !scores.empty()) run::write(*state_.directory, scores);
    state_.save();
    // Where an earlier one could not be kept, this is the nearest to it that there is.
    if (best_is_owed_) state_.directory->keep_as_best();
    best_is_owed_ = false;
    if (const int64_t cycle = cycle_ended(metrics.epoch)) state_.directory->keep_as_member(cycle);
  });
}

/// 0: none has.
int64_t Keeper::cycle_ended(int64_t epoch) const {
  const int64_t cycles = state_.job.schedule.cycles;
  if (cycles == 1 || epoch * cycles % state_.job.epochs != 0) return 0;
  return epoch * cycles / state_.job.epochs;
}

void Keeper::attempt(bool must, const std::function<void()>& work) {
  for (int tries = 1;; ++tries) {
    try {
      work();
      if (!failure_.empty()) notebook_.complain("the run is saved again");
      failure_.clear();
      return;
    } catch (const run::TakenOver&) {
      throw;
    } catch (const RunError& error) {
      // What others have sent comes again only with the next checkpoint, whatever room there is.
      const bool whole = state_.others.is_whole();
      const bool full = dynamic_cast<const NoRoom*>(&error) != nullptr;
      if (whole && full && state_.directory->drop_previous()) continue;
      if (must && tries >= kTries) throw;
      if (!must && failure_.empty()) {
        notebook_.complain(fmt::format(
            "the run could not be saved: {}; training goes on, and the next checkpoint tries again",
            error.what()));
      }
      failure_ = error.what();
      if (!must) return;
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Keeper::write_metrics() {
  state_.mend_metrics();
  while (!unwritten_.empty()) {
    run::append(*state_.directory, unwritten_.front());
    unwritten_.erase(unwritten_.begin());
  }
}

}  // namespace syrtos::train
