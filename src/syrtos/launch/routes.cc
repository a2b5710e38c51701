#include "syrtos/launch/routes.h"

#include "syrtos/base/error.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {

Routes find_routes(const std::vector<Host>& hosts) {
  Routes routes;
  std::string outside;
  for (const Host& host : hosts) {
    routes.ranks.push_back(host.address);
    routes.scheduler.push_back(world::own_address_towards(host.address));
    if (routes.scheduler.back().empty()) {
      fail_request("host {}: there is no way to its address '{}' from here", host.name,
                   host.address);
    }
    if (!world::is_loopback(host.address)) outside = routes.scheduler.back();
  }
  for (size_t i = 0; i < hosts.size() && !outside.empty(); ++i) {
    if (world::is_loopback(hosts[i].address)) routes.ranks[i] = routes.scheduler[i] = outside;
  }
  return routes;
}

}  // namespace syrtos::launch
