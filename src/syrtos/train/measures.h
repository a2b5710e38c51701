#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/trace/division_log.h"
#include "syrtos/trace/host_sampler.h"
#include "syrtos/train/measuring_cost.h"
#include "syrtos/train/network.h"
#include "syrtos/train/resolve.h"
#include "syrtos/train/run_directory.h"
#include "syrtos/train/team_work.h"

namespace syrtos::train {

/// What each worker measured beside training, and the files that worker 0 makes of it, of this
/// process alone when a run goes on:
///   steps.csv      where the time of each worker's steps went (trace/division_log.h)
///   hosts.json     {"<host>": [samples]}: the curves of each host (trace/host_reading.h)
///   operators.json  how long worker 0's kernels took (operator_profile.h), and what the machine
///   can do exchange.json  what crossed: of each worker in all, and worker 0's buckets, whose times
///   are
///                  means over its steps, in seconds since the start of the step
class Measures {
 public:
  /// All outlive it. The curves begin, if this is the first worker of its host.
  Measures(TeamWork& team, const Network& network, const ResolvedJob& job);

  /// What this worker brings; `events` of a trace were recorded so far.
  std::string own(const trace::DivisionLog& log, int64_t events);
  /// Worker 0: texts of all, empty for those that are lost.
  void write(const RunDirectory& directory, const std::vector<std::string>& texts);
  void write_exchange(const RunDirectory& directory) const;

  /// Worker 0: whether it is worth while to gather and write again, which took `spent` so far.
  /// The host's curves, if this worker has them; on its own clock.
  std::vector<trace::HostSample> curves() const;
  bool due() const;
  void spent(double seconds) { spent_s_ += seconds; }

 private:
  std::vector<nlohmann::json> new_samples();
  void add_samples(const std::string& host, const nlohmann::json& samples);
  double measuring_s(int64_t events) const;
  nlohmann::json buckets() const;
  void write_operators(const RunDirectory& directory) const;

  TeamWork& team_;
  const Network& network_;
  const ResolvedJob& job_;
  const Clock::time_point begun_ = Clock::now();
  double spent_s_ = 0;
  const MeasuringCost cost_ = MeasuringCost::measure();
  std::unique_ptr<trace::HostSampler> sampler_;
  int64_t sampled_until_ = 0;

  // At worker 0.
  std::map<std::string, std::vector<nlohmann::json>> hosts_;
  nlohmann::json ranks_ = nlohmann::json::array();
};

}  // namespace syrtos::train
