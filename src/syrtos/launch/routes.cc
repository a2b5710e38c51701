#include "syrtos/launch/routes.h"

#include "syrtos/base/error.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

std::vector<std::string> addresses_for_others(const std::vector<Host>& hosts) {
  std::vector<std::string> addresses;
  std::string outside;
  for (const Host& host : hosts) {
    addresses.push_back(host.address);
    if (world::is_loopback(host.address)) continue;
    if (std::string own = world::own_address_towards(host.address); !own.empty()) outside = own;
  }
  if (outside.empty()) return addresses;
  for (std::string& address : addresses) {
    if (world::is_loopback(address)) address = outside;
  }
  return addresses;
}

Routes find_routes(const std::vector<Host>& hosts) {
  Routes routes{.scheduler = {}, .ranks = addresses_for_others(hosts)};
  for (const Host& host : hosts) {
    routes.scheduler.push_back(world::own_address_towards(host.address));
    if (routes.scheduler.back().empty()) {
      fail_request("host {}: there is no way to its address '{}' from here", host.name,
                   host.address);
    }
  }
  for (size_t i = 0; i < hosts.size(); ++i) {
    if (world::is_loopback(hosts[i].address)) routes.scheduler[i] = routes.ranks[i];
  }
  return routes;
}

}  // namespace syrtos::launch
