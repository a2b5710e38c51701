#pragma once

#include <vector>

#include "syrtos/world/world.h"

namespace syrtos::collective {

/// The ranks that take part in a collective, in their order, the same on all of them. A member is
/// an index into it.
struct Group {
  std::vector<world::Rank> members;
  std::vector<int> host;  ///< of each member, numbered from 0 in order of appearance

  static Group all(const world::World& world);
  static Group of(const world::World& world, std::vector<world::Rank> members);
  /// Without a world: rank i is member i and runs on host[i].
  static Group on_hosts(const std::vector<int>& host);

  int size() const { return static_cast<int>(members.size()); }
  int hosts() const;
  /// -1 when the rank does not take part.
  int index_of(world::Rank rank) const;
  world::Rank rank_of(int member) const { return members[static_cast<size_t>(member)]; }
  int host_of(int member) const { return host[static_cast<size_t>(member)]; }
  /// The members on this host, in their order.
  std::vector<int> on_host(int the_host) const;
};

}  // namespace syrtos::collective
