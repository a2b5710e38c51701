#pragma once

#include <span>

#include "syrtos/trace/events.h"

namespace syrtos::trace {

/// Moves the ranks' clocks, where it is needed, so that no message arrives before it left:
/// measured offsets are wrong by up to half a round trip, which on busy hosts is longer than a
/// message takes, and viewers drop arrows that lead back in time. The clock of the first rank
/// stays. Where clocks drift so that no shift serves all messages, some still arrive too early.
void order_messages(std::span<RankEvents> ranks);

}  // namespace syrtos::trace
