#pragma once

#include <vector>

#include "syrtos/collective/group.h"
#include "syrtos/collective/predict.h"
#include "syrtos/world/control.h"
#include "syrtos/world/task.h"

namespace syrtos::collective {

/// Measures what crosses between hosts (between members, when all are on one host): pairs, all at
/// once, one member per host, exchange small messages and then large ones. The slowest pair counts,
/// since a ring is as fast as its slowest link. All members get the same answer. Takes about 0.1 s
/// at 1 Gbit/s. With one member: kMemory.
world::Task<LinkSpeed> measure_link(
    world::World& world, const Group& group,
    world::Tag tag = world::control_tag(world::ControlItem::link_speed));

/// Seconds until each of `count` small messages arrives, after some that do not count: half of the
/// way there and back. Both ranks call it.
world::Task<std::vector<double>> small_messages(world::World& world, world::Rank peer,
                                                world::Tag tag, int warm_ups, int count);

}  // namespace syrtos::collective
