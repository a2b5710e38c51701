#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/report/run.h"
#include "syrtos/trace/trace_file.h"

namespace syrtos::report {

/// How fast bytes moved from one rank to another on another host.
struct LinkRate {
  int from = 0, to = 0;
  double bytes_per_s = 0;
};

/// As the network itself measured it, over the whole run; where it did not, of large messages of
/// the trace at the best of times.
std::vector<LinkRate> link_rates(const Run& run);

/// A host, or a way from one rank to another, over which bytes move much slower than elsewhere.
struct SlowLink {
  std::string text;       ///< "host c moves bytes at 190 Mbit/s, the others at 940 Mbit/s"
  std::string host = {};  ///< empty: only one way is slow
  double ratio = 1;       ///< of its speed to the others'
};
std::optional<SlowLink> slow_link(const Run& run);

/// Bytes/s that each host of a worker moves at its best.
std::map<std::string, double> host_rates(const Run& run);

/// Of a message's event.
int64_t bytes_of(const trace::RankEvents& rank, const trace::Event& event);

}  // namespace syrtos::report
