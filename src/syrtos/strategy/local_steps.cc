#include "syrtos/strategy/local_steps.h"

#include "syrtos/optim/clip.h"
#include "syrtos/strategy/all_reduce.h"
#include "syrtos/strategy/pass.h"

namespace syrtos::strategy {

LocalSteps::LocalSteps(World& world, const Team& team, const Options& options, Replica& replica)
    : Strategy(world),
      world_(world),
      options_(options),
      replica_(replica),
      group_(collective::Group::of(world, team.worker_ranks())),
      sums_(prepare_sums(world, group_, options, replica.layout(), replica.weights())),
      undo_(replica, options.goes_back() && group_.size() > 1),
      arrivals_(world, meter_, replica.layout().buckets.size()) {}

Task<> LocalSteps::begin() { return broadcast_replica(world_, group_, replica_); }

Task<int64_t> LocalSteps::step(const StepInfo& info) {
  undo_.begin_step(info.step);
  co_await run_pass(world_, group_, replica_, arrivals_, meter_, info.step, [](int) {});
  co_await update(info);
  meter_.computed();
  if (++since_ >= options_.sync.average_every()) start_averaging();
  co_return 1;
}

Task<> LocalSteps::update(const StepInfo& info) {
  const size_t elements = replica_.layout().elements();
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(elements), [&] {
    if (since_ == 0) undo_.copy_all(info.step);
    if (info.weight == 0) return;  // no samples: neither decay nor momentum moves the weights
    optim::Hyper hyper = info.hyper;
    if (info.clip > 0) {
      hyper.gradient_scale = optim::clip_scale(replica_.gradient_norm(), info.clip);
    }
    replica_.update(0, elements, hyper);
  });
}

void LocalSteps::start_averaging() {
  since_ = 0;
  ++averages_;
  // The first layers are needed first.
  for (int bucket = static_cast<int>(replica_.layout().buckets.size()) - 1; bucket >= 0; --bucket) {
    arrivals_.start(bucket, average(bucket));
  }
}

Task<> LocalSteps::average(int bucket) {
  const Bucket& where = replica_.layout().buckets[static_cast<size_t>(bucket)];
  const Floats weights = part(replica_.weights(), where.first, where.count);
  if (group_.size() > 1) {
    const Meter::Crossing crossing(meter_, bucket);
    co_await sums_[static_cast<size_t>(bucket)]->run(averages_);
  }
  const Meter::Doing updates(meter_, Part::update);
  co_await world_.compute(replica_.update_seconds(where.count), [this, &where, &weights] {
    scale(weights, 1.0 / group_.size());
    replica_.weights_changed(where.first, where.count);
  });
}

Task<> LocalSteps::agree() {
  if (since_ > 0) start_averaging();
  co_await arrivals_.all();
}

Task<std::optional<int64_t>> LocalSteps::go_back() {
  arrivals_.give_up();
  std::optional<int64_t> done;
  co_await world_.compute(0, [&] { done = undo_.go_back_to_copy(); });
  co_return done;
}

Task<> LocalSteps::collect() { co_return; }
Task<> LocalSteps::end() { co_return; }

}  // namespace syrtos::strategy
