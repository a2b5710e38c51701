#pragma once

#include "syrtos/base/clock.h"

namespace syrtos::launch {

/// For poll(): never negative, rounded up.
int milliseconds_until(Clock::time_point moment);

/// Reads away what is in a pipe that can be read and that nobody else reads; whether its writer has
/// closed it.
bool at_end(int input);

}  // namespace syrtos::launch
