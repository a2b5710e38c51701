#include "syrtos/launch/placement.h"

#include <fmt/format.h>

#include <algorithm>

#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

std::string plural(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

[[noreturn]] void refuse(int workers, int servers, const std::vector<Host>& hosts) {
  const int slots = total_slots(hosts);
  const std::string asked = plural(workers, "worker") +
                            (servers > 0 ? " and " + plural(servers, "server") : std::string());
  const std::string fewer =
      slots > servers ? fmt::format("use at most {}, or give", plural(slots - servers, "worker"))
                      : "give";
  fail_request("{} need {}, found {} ({}); {} the hosts more slots", asked,
               plural(workers + servers, "slot"), slots, list_slots(hosts), fewer);
}

}  // namespace

const char* to_string(Role role) { return role == Role::worker ? "worker" : "server"; }

Host this_machine(int cores, int slots) {
  return {
      .name = "localhost", .slots = slots, .address = "127.0.0.1", .ssh_port = 0, .cores = cores};
}

std::vector<Placement> place(int workers, int servers, const std::vector<Host>& hosts) {
  if (workers < 1 || servers < 0) {
    fail_request("expected at least 1 worker and 0 servers, found {} and {}", workers, servers);
  }
  if (workers + servers > total_slots(hosts)) refuse(workers, servers, hosts);
  std::vector<Placement> placements;
  std::vector<int> workers_on(hosts.size());
  size_t host = 0;
  int taken = 0;
  for (Rank rank = 0; rank < workers + servers; ++rank) {
    for (; taken == hosts[host].slots; taken = 0) ++host;
    ++taken;
    const Role role = rank < workers ? Role::worker : Role::server;
    if (role == Role::worker) ++workers_on[host];
    placements.push_back({rank, role, static_cast<int>(host), 1});
  }
  for (Placement& placement : placements) {
    const auto at = static_cast<size_t>(placement.host);
    if (placement.role == Role::worker) {
      placement.cores = std::max(1, hosts[at].cores / workers_on[at]);
    }
  }
  return placements;
}

}  // namespace syrtos::launch
