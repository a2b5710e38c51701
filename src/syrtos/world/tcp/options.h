#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syrtos/world/tag.h"

namespace syrtos::world {

/// Where a rank listens.
struct TcpMember {
  std::string host;  ///< as people know it; ranks of one host may share memory
  std::string address;
  uint16_t port = 0;
  Rank number = -1;  ///< by which people know it; -1: its rank
};

struct TcpOptions {
  Rank rank = 0;
  std::vector<TcpMember> members;  ///< by rank
  std::string token;               ///< who does not know it is refused; see random_token()
  int connections = 2;             ///< to each other rank
  double connect_timeout = 10;     ///< seconds until all must have met
  double heartbeat = 1;            ///< seconds
  double lost_after = 4;           ///< seconds of silence
  bool shared_memory = true;       ///< between ranks of one host
  bool encrypted = true;           ///< between ranks of different hosts
};

}  // namespace syrtos::world
