#pragma once

#include <string>
#include <string_view>

#include "syrtos/trace/events.h"

namespace syrtos::trace {

/// One rank's events in few bytes (about 10 to 20 each), to be sent to rank 0.
std::string to_bytes(const RankEvents& events);

/// The events again. Bytes that to_bytes did not make are refused with RunError that says where;
/// they take at most about twenty times their size in memory. `sender` says whose they are.
RankEvents events_from_bytes(std::string_view bytes, std::string_view sender);

}  // namespace syrtos::trace
