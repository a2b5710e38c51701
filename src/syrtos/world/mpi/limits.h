#pragma once

#include <chrono>
#include <cstddef>

namespace syrtos::world {

/// Messages up to this size travel within their header, through copies at both ends.
constexpr size_t kInlineBytes = 32 << 10;
/// Between hosts: below Open MPI's eager limit for sockets (64 KB). Larger ones would ask the
/// receiver once more, which has agreed already, and in both directions at once that halves the
/// rate of a 1 Gbit/s link.
constexpr size_t kSegmentBytes = 60 << 10;
/// Within a host, where every segment costs a handshake.
constexpr size_t kLocalSegmentBytes = 512 << 10;
/// Segments on their way to a rank, or awaited for one message.
constexpr int kSegmentsInFlight = 8;
/// Until the receiver has taken those of a message that is given up.
constexpr std::chrono::seconds kToTakeSegments{10};
/// MPI counts in ints, and not all of its algorithms split what is larger than this.
constexpr size_t kAllReducePart = size_t{1} << 28;  // elements

}  // namespace syrtos::world
