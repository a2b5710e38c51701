#include "syrtos/strategy/undo.h"

#include <algorithm>
#include <chrono>

#include "syrtos/base/parallel.h"

namespace syrtos::strategy {

namespace {

constexpr int64_t kRarity = 100;  // copies take a hundredth of the time
// Whoever goes back needs to know where the run was after each of these steps.
constexpr int64_t kMostSteps = 1000;

void copy_floats(float* to, const float* from, size_t count) {
  constexpr int64_t kGrain = 4096;
  parallel_for(static_cast<int64_t>(count), kGrain, 16 * kGrain, [=](int64_t begin, int64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

}  // namespace

Undo::Undo(Replica& replica, bool copies)
    : replica_(replica), copies_(copies && replica.weights().data != nullptr) {
  versions_.resize(replica.layout().buckets.size());
  if (!copies_) return;
  copied_in_.resize(versions_.size(), -1);
  live_ = replica.kept();
  live_.push_back(replica.weights());
  for (const Floats& arena : live_) kept_.emplace_back(arena.count);
}

bool Undo::is_due(int64_t step) const {
  const int64_t last = copying_;
  if (last < 0) return true;
  if (buckets_copied_ < versions_.size()) return false;
  const auto since = std::chrono::nanoseconds(Clock::now() - began_).count();
  return since >= kRarity * nanoseconds_ || step - last >= kMostSteps;
}

void Undo::begin_copy(int64_t step) {
  states_copying_ = states_;
  began_ = Clock::now();
  nanoseconds_ = 0;
  buckets_copied_ = 0;
  copying_ = step;
}

void Undo::begin_step(int64_t step) {
  if (pass_ < 0) std::ranges::fill(versions_, step);
  pass_ = step;
  if (!copies_) return;
  const Floats states = replica_.states();
  states_before_.swap(states_);
  states_.assign(states.data, states.data + states.count);
}

void Undo::copy_in_this_step() {
  if (copies_ && is_due(pass_)) begin_copy(pass_);
}

void Undo::copy(int bucket) {
  const auto index = static_cast<size_t>(bucket);
  const Bucket& where = replica_.layout().buckets[index];
  const auto begun = Clock::now();
  if (buckets_copied_ == 0) {
    copied_ = copying_.load();
    states_copied_.swap(states_copying_);
  }
  for (size_t i = 0; i < live_.size(); ++i) {
    copy_floats(kept_[i].data() + where.first, live_[i].data + where.first, where.count);
  }
  nanoseconds_ += std::chrono::nanoseconds(Clock::now() - begun).count();
  copied_in_[index] = copying_;
  ++buckets_copied_;
}

void Undo::copy_all(int64_t steps_done) {
  if (!copies_ || !is_due(steps_done)) return;
  begin_copy(steps_done);
  for (int bucket = 0; bucket < static_cast<int>(versions_.size()); ++bucket) copy(bucket);
}

void Undo::update(int bucket, int64_t step, const optim::Hyper& hyper) {
  const auto index = static_cast<size_t>(bucket);
  const Bucket& where = replica_.layout().buckets[index];
  if (copies_ && step == copying_) copy(bucket);
  replica_.update(where.first, where.count, hyper);
  versions_[index] = step + 1;
}

void Undo::update_all(int64_t step, const optim::Hyper& hyper) {
  // All at once: there is never a step of which a part is done.
  replica_.update(0, replica_.layout().elements(), hyper);
  std::ranges::fill(versions_, step + 1);
}

void Undo::bring_back(size_t bucket) {
  const Bucket& where = replica_.layout().buckets[bucket];
  for (size_t i = 0; i < live_.size(); ++i) {
    copy_floats(live_[i].data + where.first, kept_[i].data() + where.first, where.count);
  }
  versions_[bucket] = copied_in_[bucket];
}

std::optional<int64_t> Undo::go_back() {
  if (!copies_ || pass_ < 0) return std::nullopt;
  const bool whole =
      std::ranges::all_of(versions_, [this](int64_t one) { return one == versions_[0]; });
  if (whole) {
    const int64_t done = versions_.empty() ? pass_ : versions_[0];
    // The pass after them may have moved the running statistics already, and the one that begins
    // before the first of its buckets is there may be on its way too.
    const Arena& states = done == pass_ ? states_ : states_before_;
    if (done <= pass_) std::ranges::copy(states, replica_.states().data);
    return done;
  }
  return go_back_to_copy();
}

std::optional<int64_t> Undo::go_back_to_copy() {
  const int64_t step = copied_;
  if (!copies_ || step < 0) return std::nullopt;
  for (size_t bucket = 0; bucket < versions_.size(); ++bucket) {
    if (copied_in_[bucket] == step) bring_back(bucket);
  }
  // Buckets that the step has not copied yet it has not updated either.
  if (!std::ranges::all_of(versions_, [step](int64_t one) { return one == step; })) {
    return std::nullopt;
  }
  std::ranges::copy(states_copied_, replica_.states().data);
  replica_.weights_changed(0, replica_.layout().elements());
  return step;
}

}  // namespace syrtos::strategy
