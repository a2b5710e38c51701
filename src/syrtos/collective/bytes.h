#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/collective/group.h"
#include "syrtos/world/task.h"

// Collectives for what has another size on each member, or one that only the root knows: metrics,
// tables, sparse gradients. Sizes travel first. Where the world carries sizes only, all members are
// taken to bring as much as this one.

namespace syrtos::collective {

using Bytes = std::vector<std::byte>;

Bytes to_bytes(std::string_view text);
std::string to_text(const Bytes& bytes);

/// The root's bytes, everywhere. What the others bring is ignored. Two trees: the size, the bytes.
world::Task<Bytes> broadcast_bytes(world::World& world, const Group& group, Bytes bytes, int root,
                                   world::Tag tag);
/// Everyone's bytes, in the order of the members, at the root; nothing elsewhere. Two messages from
/// each member: its size, its bytes.
world::Task<std::vector<Bytes>> gather_bytes(world::World& world, const Group& group, Bytes mine,
                                             int root, world::Tag tag);
/// Everyone's bytes, everywhere. The sizes go by way of member 0; so do the bytes if they are few,
/// otherwise they go around a ring, in which each member sends all but its successor's.
world::Task<std::vector<Bytes>> all_gather_bytes(world::World& world, const Group& group,
                                                 Bytes mine, world::Tag tag);

}  // namespace syrtos::collective
