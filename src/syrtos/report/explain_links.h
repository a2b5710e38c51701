#pragma once

#include <vector>

#include "syrtos/trace/trace_file.h"

namespace syrtos::report {

/// How fast large messages crossed from one rank to another, when nothing held them up.
struct LinkRate {
  int from = 0, to = 0;
  double bytes_per_s = 0;
};

/// Of all pairs with a few large messages in the trace.
std::vector<LinkRate> link_rates(const trace::TraceContents& trace);

}  // namespace syrtos::report
