#pragma once

#include <cstdint>
#include <string>

#include "syrtos/base/descriptor.h"

namespace syrtos::launch {

/// The numeric address of a host, IPv4 if it has one; empty: unknown. May block for some seconds.
std::string find_address(const std::string& host);

bool is_loopback(const std::string& address);

/// The address of this machine that the other one sees; empty: there is no way to it.
std::string own_address_towards(const std::string& address);

/// A socket that listens, without blocking; an empty address: on all of this machine's. Port 0:
/// any. Throws RequestError when the port is in use or the address is not this machine's.
Descriptor listen_at(const std::string& address, uint16_t port);
uint16_t port_of(const Descriptor& socket);

/// Begins to connect, without blocking: it is done, or has failed, when the socket can be written.
/// Invalid: failed at once (errno says why).
Descriptor begin_connect(const std::string& address, uint16_t port);
/// errno of a connection that was begun; 0: it stands.
int connect_error(const Descriptor& socket);

/// Small messages go at once, and a peer whose machine has vanished is noticed within some 3 s.
void watch_closely(const Descriptor& socket);

}  // namespace syrtos::launch
