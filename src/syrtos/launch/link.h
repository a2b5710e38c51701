#pragma once

#include <string>

namespace syrtos::launch {

/// What a machine's address belongs to.
struct Link {
  std::string name;  ///< of the interface; empty: none has this address
  int mtu = 0;       ///< bytes
  int mbit = 0;      ///< per second, as the driver says it; 0: it does not
};

Link find_link(const std::string& address);

}  // namespace syrtos::launch
