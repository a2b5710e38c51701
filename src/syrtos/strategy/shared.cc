#include "syrtos/strategy/shared.h"

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/pass.h"

#if defined(__SANITIZE_THREAD__)
extern "C" {  // of its runtime
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}
#endif

namespace syrtos::strategy {

namespace {

/// While it lives, what this thread reads and writes may race with others: ThreadSanitizer does not
/// look. (A suppression would be found for each element anew, which takes minutes.)
struct MeantRaces {
#if defined(__SANITIZE_THREAD__)
  MeantRaces() {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~MeantRaces() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
  }
#else
  MeantRaces() {}
#endif
  MeantRaces(const MeantRaces&) = delete;
};

}  // namespace

SharedTraining::SharedTraining(World& world, const Team& team, Replica& replica)
    : Strategy(world),
      world_(world),
      replica_(replica),
      group_(collective::Group::of(world, team.worker_ranks())) {}

Task<> SharedTraining::begin() {
  const Floats states = replica_.states();
  const world::Tag tag{world::Purpose::broadcast, 0, 0};
  co_await collective::broadcast(world_, group_, states.data, states.count * sizeof(float), 0, tag);
}

Task<int64_t> SharedTraining::step(const StepInfo& info) {
  if (!begun_) updates_before_ = info.hyper.step;
  begun_ = true;
  seen_ = replica_.updates();
  for (size_t stage = 0; stage < replica_.stages().size(); ++stage) {
    co_await run_stage(world_, replica_, meter_, stage);
  }
  meter_.computed();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(replica_.layout().elements()),
                          [this, &info] { update_shared_weights(info); });
  co_return 1;
}

void SharedTraining::update_shared_weights(StepInfo info) {
  if (info.weight == 0) return;
  info.hyper.gradient_scale = info.weight;
  if (info.clip > 0) {
    const double norm = info.weight * replica_.gradient_norm();
    info.hyper.gradient_scale *= optim::clip_scale(norm, info.clip);
  }
  const int64_t updates = replica_.updates();
  ++staleness_[updates - seen_];
  info.hyper.step = updates_before_ + updates;  // what the optimiser keeps has seen so many
  const MeantRaces races;
  replica_.update(0, replica_.layout().elements(), info.hyper);
}

// There is one set of weights, and what the optimiser keeps is with them.
Task<> SharedTraining::settle() { co_return; }
Task<> SharedTraining::agree() { co_return; }
Task<> SharedTraining::collect() { co_return; }
Task<> SharedTraining::end() { co_return; }

}  // namespace syrtos::strategy
