#include "syrtos/collective/group.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

namespace syrtos::collective {

namespace {

/// Replaces names by numbers from 0 in order of appearance.
template <typename Name>
std::vector<int> numbered(const std::vector<Name>& names) {
  std::unordered_map<Name, int> known;
  std::vector<int> numbers;
  numbers.reserve(names.size());
  for (const Name& name : names) {
    numbers.push_back(known.try_emplace(name, static_cast<int>(known.size())).first->second);
  }
  return numbers;
}

}  // namespace

Group Group::all(const world::World& world) {
  std::vector<world::Rank> ranks(static_cast<size_t>(world.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return of(world, std::move(ranks));
}

Group Group::of(const world::World& world, std::vector<world::Rank> members) {
  std::vector<std::string_view> hosts;
  hosts.reserve(members.size());
  for (const world::Rank rank : members) hosts.emplace_back(world.host(rank));
  return {std::move(members), numbered(hosts)};
}

Group Group::on_hosts(const std::vector<int>& host) {
  std::vector<world::Rank> ranks(host.size());
  std::iota(ranks.begin(), ranks.end(), 0);
  return {std::move(ranks), numbered(host)};
}

int Group::hosts() const {
  return host.empty() ? 0 : 1 + *std::max_element(host.begin(), host.end());
}

int Group::index_of(world::Rank rank) const {
  const auto found = std::find(members.begin(), members.end(), rank);
  return found == members.end() ? -1 : static_cast<int>(found - members.begin());
}

std::vector<int> Group::on_host(int the_host) const {
  std::vector<int> found;
  for (int member = 0; member < size(); ++member) {
    if (host_of(member) == the_host) found.push_back(member);
  }
  return found;
}

}  // namespace syrtos::collective
