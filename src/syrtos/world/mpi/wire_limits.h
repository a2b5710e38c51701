#pragma once

#include <cstddef>

namespace syrtos::world {

/// Messages up to this size travel within their header, through copies at both ends.
constexpr size_t kInlineBytes = 32 << 10;
/// Adding one takes about as long as 10 Gbit/s need for a tenth of it.
constexpr size_t kSegmentBytes = 512 << 10;
/// Segments on their way to a rank, or awaited for one message.
constexpr int kSegmentsInFlight = 4;
/// MPI counts in ints, and not all of its algorithms split what is larger than this.
constexpr size_t kAllReducePart = size_t{1} << 28;  // elements

}  // namespace syrtos::world
