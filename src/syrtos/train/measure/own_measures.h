#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/run/exchange.h"
#include "syrtos/strategy/clocks.h"
#include "syrtos/trace/division_log.h"
#include "syrtos/trace/host_sampler.h"
#include "syrtos/trace/thread_use.h"

namespace syrtos::train {

using strategy::Clocks;
using strategy::WorldClock;

/// What one rank, worker or server, measured beside its work, as a text for worker 0.
class OwnMeasures {
 public:
  /// Both outlive it. The host's curves begin, if this is the first rank of its host; `period` in
  /// seconds, 0: no curves.
  /// `threads`: that it computes with, 0: none.
  OwnMeasures(const world::World& world, const Clocks& clocks, double period, int threads);

  /// What is new since the last one, and all records; measuring took so long so far.
  std::string text(const trace::DivisionLog& log, double measuring_s);
  /// Of this rank's host, if it has them: those that worker 0 does not have yet.
  std::vector<trace::HostSample> new_samples();
  /// The host's curves, if this rank has them; on its own clock.
  std::vector<trace::HostSample> curves() const;

 private:
  const world::World& world_;
  const Clocks& clocks_;
  const int threads_;
  const Clock::time_point begun_ = Clock::now();
  const trace::ThreadUse used_before_ = trace::read_thread_use();
  std::unique_ptr<trace::HostSampler> sampler_;
  int64_t sampled_until_ = 0;
};

/// Samples on their way between ranks: a list of objects, and back (throws RequestError).
nlohmann::json to_json(const std::vector<trace::HostSample>& samples);
std::vector<trace::HostSample> samples_of(const nlohmann::json& list);

/// Such a text of OwnMeasures, at worker 0. Times are on its clock.
struct ToldMeasures {
  run::RankTraffic traffic;
  std::vector<trace::HostSample> samples;
  trace::RankDivision division;
};
/// Throws RunError when it is cut off or damaged.
ToldMeasures told_measures(const std::string& text, const world::World& world);

}  // namespace syrtos::train
