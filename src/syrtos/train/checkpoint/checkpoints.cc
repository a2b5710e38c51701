#include "syrtos/train/checkpoint/checkpoints.h"

#include "syrtos/strategy/worker_loop.h"

namespace syrtos::train {

bool Checkpoints::are_due() const {
  const int64_t every = state_.job.checkpoint_every;
  return every > 0 && state_.course.position().step % every == 0;
}

Task<> Checkpoints::save(bool wants_to_stop) {
  co_await strategy::settle(team_.strategy(), team_.sums());
  state_.course.add(team_.sums().take());
  if (state_.job.strategy.same_everywhere()) {
    if (state_.is_first()) co_await save_here(wants_to_stop);
  } else {
    co_await meetings_.meet(wants_to_stop);
    co_await save_together(wants_to_stop || team_.sums().stop_agreed());
  }
}

Task<> Checkpoints::save_together(bool must) {
  co_await agree();
  {
    const Meter::Doing waits(team_.meter(), Part::network);
    co_await team_.strategy().collect();
    co_await collect_parts();
  }
  if (!team_.in_step()) {
    state_.course.set_sums(co_await meetings_.hand_over(state_.course.sums()));
  }
  if (state_.is_first()) co_await save_here(must);
  co_await meetings_.meet();
}

Task<> Checkpoints::collect_parts() {
  const std::filesystem::path directory =
      state_.is_first() ? state_.directory->path() : std::filesystem::path();
  co_await team_.part_tensors().collect(state_.others, directory);
}

Task<> Checkpoints::agree() {
  const Meter::Doing waits(team_.meter(), Part::network);
  co_await team_.strategy().agree();
  state_.course.note_updates(team_.strategy().updates());
}

Task<> Checkpoints::save_here(bool must) {
  const Meter::Doing saves(team_.meter(), Part::checkpoint);
  const bool has_to = must && !(pauses_ && pauses_());
  co_await team_.world().compute(0, [this, has_to] { keeper_->keep_position(has_to); });
}

}  // namespace syrtos::train
