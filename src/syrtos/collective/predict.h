#pragma once

#include <cstddef>

#include "syrtos/collective/algorithm.h"

namespace syrtos::collective {

/// A message of b bytes arrives after latency_s + b / bytes_per_s, in both directions at once.
struct LinkSpeed {
  double latency_s = 0;
  double bytes_per_s = 0;
};

/// 1 Gbit/s Ethernet with TCP, and memory or loopback within a host: what is assumed until
/// something was measured.
constexpr LinkSpeed kEthernet{60e-6, 117e6};
constexpr LinkSpeed kMemory{20e-6, 2e9};

/// Seconds that one all-reduce takes, when nothing else crosses. Ranks of one host follow each
/// other and share its link. `link` is between hosts; on a single host it is the one within. Slices
/// beside each other can hide latency: then it takes a little less.
double predicted_seconds(Algorithm algorithm, int ranks, int hosts, size_t bytes, LinkSpeed link,
                         LinkSpeed within = kMemory);

/// The algorithm with the smallest predicted time; the ring also where it takes a tenth longer, or
/// where doubling would spend more on copying than it saves.
Algorithm choose(int ranks, int hosts, size_t bytes, LinkSpeed link, LinkSpeed within = kMemory);

}  // namespace syrtos::collective
