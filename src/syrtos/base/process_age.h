#pragma once

namespace syrtos {

/// Seconds since this process was started, to a hundredth; 0 where the system does not tell.
double process_age();

}  // namespace syrtos
