#pragma once

#include <vector>

#include "syrtos/trace/trace_file.h"

namespace syrtos::report {

/// How many bytes of large messages crossed from one host to another at the best of times: beyond
/// what one in twenty stretches of a few milliseconds reached.
struct LinkRate {
  int from = 0, to = 0;
  double bytes_per_s = 0;
};

/// Of all pairs of ranks on different hosts with enough large messages in the trace.
std::vector<LinkRate> link_rates(const trace::TraceContents& trace);

/// Of a message's event.
int64_t bytes_of(const trace::RankEvents& rank, const trace::Event& event);

}  // namespace syrtos::report
