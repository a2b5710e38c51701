#pragma once

#include <string>

namespace syrtos {

/// What this machine calls itself; "localhost" when it does not say.
std::string host_name();

}  // namespace syrtos
