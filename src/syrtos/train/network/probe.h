#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/job/precision.h"
#include "syrtos/nn/network.h"
#include "syrtos/strategy/compute_times.h"

namespace syrtos::train {

struct ProbeOptions {
  int64_t batch = 42;
  Shape image = {};     ///< [channels, height, width]; none: the network's own.
  int64_t classes = 0;  ///< 0: the network's own.
  job::Precision precision = {};
  int threads = 1;
  double seconds = 3;    ///< To measure for, after the warm-up.
  bool brief = false;    ///< A few steps are enough, where a step is long.
  bool profile = false;  ///< Whether to measure kernel by kernel too.
};

/// Time of the kernels that share an operation or an implementation.
struct ProbeGroup {
  std::string name;
  int count = 0;
  double ms = 0;      ///< per step
  double gflops = 0;  ///< achieved
};

struct ProbeResult {
  std::string network;
  int64_t parameters = 0;
  int64_t batch = 0;
  Shape image;
  int64_t classes = 0;
  job::Precision precision;
  int64_t threads = 0;
  int64_t steps = 0;  ///< that were measured
  double t_step_ms = 0;
  double t_fastest_ms = 0;  ///< the fastest step, which other work on the machine disturbs least
  double t_forward_ms = 0;
  double t_backward_ms = 0;
  double t_update_ms = 0;
  double gflops = 0;  ///< achieved in a whole step
  double peak_rss_mb = 0;
  double arena_mb = 0;
  std::vector<ProbeGroup> by_operation;  ///< with profile: most time first
  std::vector<ProbeGroup> by_kernel;
  strategy::ComputeTimes times;  ///< with profile: what plans and replays are made from
};

/// Measures whole training steps (forward, backward, update by momentum) on random data: medians
/// after a warm-up. `should_stop` ends it early with what there is.
ProbeResult probe_compute(const nn::Network& network, const ProbeOptions& options,
                          const std::function<bool()>& should_stop = {});

/// The times of a network with each of these batch sizes, `options.seconds` each; up to three times
/// where other work on the machine disturbs it (see strategy::doubt_of).
strategy::ComputeTimes probe_times(const nn::Network& network, ProbeOptions options,
                                   std::vector<int64_t> batches,
                                   const std::function<bool()>& should_stop);

}  // namespace syrtos::train
