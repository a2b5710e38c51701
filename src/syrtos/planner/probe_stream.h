#pragma once

#include <cstddef>
#include <vector>

#include "syrtos/planner/probe_schedule.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

// The messages that measure. All that take part call the same function with the same tag.

namespace syrtos::planner {

/// Half of the time of a small message there and back.
world::Task<Figure> ping_pong(world::World& world, Rank peer, world::Tag tag);

/// Bytes of a message that takes some 10 ms: 64 kB to 2 MB.
size_t message_bytes(double bytes_per_s);
/// Both exchange a little and agree on the bytes of a message.
world::Task<size_t> agree_on_bytes(world::World& world, Rank peer, world::Tag tag);

/// One direction between two ranks: messages of so many bytes.
struct Stream {
  Rank peer = 0;
  size_t bytes = 0;
};

/// Sends and receives on all streams at once, without a pause, for so many seconds and at least
/// some messages. Bytes/s that arrived while everybody was sending, of all streams together.
/// Senders say which message is their last, so the two ends need not agree on when.
world::Task<Figure> stream(world::World& world, std::vector<Stream> out, std::vector<Stream> in,
                           world::Tag tag, double seconds);

}  // namespace syrtos::planner
