#include "syrtos/strategy/step_sums.h"

#include <algorithm>
#include <cmath>

namespace syrtos::strategy {

using world::Started;

namespace {

constexpr size_t kSums = 4;

}  // namespace

StepSums::StepSums(World& world, const Team& team, const Options& options, Meter& meter,
                   const Clocks& clocks)
    : world_(world),
      group_(collective::Group::of(world, team.worker_ranks())),
      meter_(meter),
      clocks_(clocks),
      shared_(team.workers > 1 && options.sync.in_step()),
      compares_moments_(shared_ && options.exchange.among_workers()),
      crossing_(kSums + (compares_moments_ ? static_cast<size_t>(team.workers) : 0)) {
  if (!shared_) return;
  collective::ReduceOptions reduce;
  reduce.algorithm = collective::Algorithm::doubling;
  reduce.tag = {Purpose::reduce, 0, 0};
  reduce.priority = 1 << 20;
  all_reduce_.emplace(world_, group_, Floats{crossing_.data(), crossing_.size()}, reduce);
}

Task<> StepSums::add(const Sums& mine, bool wants_to_stop) {
  if (!shared_) {
    complete_ += mine;
    co_return;
  }
  co_await complete();
  std::fill(crossing_.begin(), crossing_.end(), 0.0F);
  crossing_[0] = wants_to_stop ? 1.0F : 0.0F;
  crossing_[1] = static_cast<float>(mine.loss);
  crossing_[2] = static_cast<float>(mine.score);
  crossing_[3] = static_cast<float>(mine.samples);
  if (compares_moments_) {
    if (rounds_ == 0) latest_ = clocks_.origin();
    // Since the last one, which all know: then a float is exact enough.
    computed_ = clocks_.clock().steady(meter_.computed_at());
    crossing_[kSums + static_cast<size_t>(world_.rank())] =
        static_cast<float>(clocks_.to_first(computed_) - latest_) * 1e-9F;
  }
  exchange_ = Started(world_, all_reduce_->run(rounds_++));
}

Task<> StepSums::complete() {
  if (!exchange_.valid()) co_return;
  {
    const Meter::Doing waits(meter_, Part::network);
    co_await exchange_.join();
  }
  exchange_.cancel();
  if (compares_moments_) compare_moments();
  stop_agreed_ = stop_agreed_ || crossing_[0] > 0;
  complete_ += {crossing_[1], crossing_[2], std::lround(crossing_[3])};
}

/// While another worker computed a step that this one had computed already, it waited for that one,
/// if it had nothing else to do.
void StepSums::compare_moments() {
  const float last = *std::max_element(crossing_.begin() + kSums, crossing_.end());
  latest_ += std::llround(static_cast<double>(last) * 1e9);
  const int64_t until = clocks_.from_first(latest_) - clocks_.error();
  const WorldClock& clock = clocks_.clock();
  meter_.waited_for_others({clock.of_steady(computed_), clock.of_steady(until)});
}

}  // namespace syrtos::strategy
