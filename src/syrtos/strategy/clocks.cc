#include "syrtos/strategy/clocks.h"

#include <algorithm>
#include <cmath>

#include "syrtos/trace/recorder.h"
#include "syrtos/world/control.h"

namespace syrtos::strategy {

using world::control_tag;
using world::ControlItem;
using world::Rank;
using world::Source;
using world::Tag;
using world::Target;
using world::Task;

namespace {

constexpr double kNanoseconds = 1e9;
constexpr uint32_t kQuestions = 8;
constexpr size_t kMostOffsets = 256;

Tag question_tag(uint32_t round) { return control_tag(ControlItem::clock_question, round); }
Tag answer_tag(uint32_t round) { return control_tag(ControlItem::clock_answer, round); }

Tag error_tag(uint32_t round) { return control_tag(ControlItem::clock_error, round); }

struct Answer {
  int64_t asked = 0;
  int64_t answered = 0;
  int64_t origin = 0;
  int64_t largest_error = 0;
};

}  // namespace

WorldClock::WorldClock(const world::World& world)
    : world_(world), origin_(trace::now() - std::llround(world.now() * kNanoseconds)) {}

int64_t WorldClock::steady(double time) const {
  return origin_ + std::llround(time * kNanoseconds);
}

double WorldClock::of_steady(int64_t time) const {
  return static_cast<double>(time - origin_) / kNanoseconds;
}

Clocks::Clocks(world::World& world, const WorldClock& clock, bool spare)
    : world_(world), clock_(clock), spare_(spare), origin_(clock.now()) {}

/// One worker after the other: two at once would make each other's messages late.
Task<> Clocks::align(const std::vector<Rank>& others) {
  if (world_.rank() != 0) {
    co_await ask();
  } else {
    for (const Rank other : others) co_await answer(other);
  }
  rounds_ += kQuestions;
}

Task<> Clocks::answer(Rank worker) {
  try {
    for (uint32_t i = 0; i < kQuestions; ++i) {
      co_await world_.recv(worker, question_tag(rounds_ + i), Target{});
      Answer answer{clock_.now(), 0, origin_, largest_error_};
      answer.answered = clock_.now();
      co_await world_.send(worker, answer_tag(rounds_ + i), Source{&answer, sizeof(answer)});
    }
    int64_t error = 0;
    co_await world_.recv(worker, error_tag(rounds_), Target{&error, sizeof(error)});
    largest_error_ = std::max(largest_error_, error);
  } catch (const world::PeerLost&) {
    if (!spare_) throw;
  }
}

Task<> Clocks::ask() {
  std::vector<trace::ClockSample> samples;
  for (uint32_t i = 0; i < kQuestions; ++i) {
    trace::ClockSample sample;
    Answer answer;
    sample.t0 = clock_.now();
    co_await world_.send(0, question_tag(rounds_ + i), Source{});
    co_await world_.recv(0, answer_tag(rounds_ + i), Target{&answer, sizeof(answer)});
    sample.t3 = clock_.now();
    sample.t1 = answer.asked;
    sample.t2 = answer.answered;
    origin_ = answer.origin;
    largest_error_ = answer.largest_error;
    samples.push_back(sample);
  }
  offset_ = trace::measure_offset(samples);
  co_await world_.send(0, error_tag(rounds_), Source{&offset_.error, sizeof(offset_.error)});
  offsets_.push_back(offset_);
  if (offsets_.size() < kMostOffsets) co_return;
  for (size_t i = 1; i < offsets_.size() / 2; ++i) offsets_[i] = offsets_[2 * i];
  offsets_.resize(offsets_.size() / 2);
}

}  // namespace syrtos::strategy
