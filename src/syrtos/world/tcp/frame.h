#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "syrtos/world/payload.h"

namespace syrtos::world::tcp {

/// A message travels in frames, which may take different connections and arrive in any order.
enum class FrameType : uint16_t {
  data,
  withdrawn,  ///< its sender gave the message up: `offset` bytes of it come, not all
  heartbeat,
  good_bye,  ///< nothing follows on this connection; `round` is 1 after a failure
  offer,     ///< the receiver may take the message from the sender's memory: see Offered
  taken,     ///< it has, or does not want to; `offset` is the slot
};

constexpr uint16_t kFrameMagic = 0x5953;

/// Little-endian on the wire, which is what every machine that we run on has in memory.
struct FrameHeader {
  uint16_t magic = kFrameMagic;
  FrameType type = FrameType::data;
  uint32_t lane = 0;
  uint32_t round = 0;
  uint32_t bytes = 0;     ///< that follow
  uint64_t sequence = 0;  ///< of the message, in its lane
  uint64_t offset = 0;    ///< of these bytes, in the message
  uint64_t total = 0;     ///< of the message
};
static_assert(sizeof(FrameHeader) == 40 && std::endian::native == std::endian::little);

/// The offset of an offer: where the message is, and the slot that says whether it still is.
struct Offered {
  uint64_t address = 0;
  uint64_t slot = 0;

  static Offered of(uint64_t offset) { return {offset & kAddressMask, offset >> kAddressBits}; }
  uint64_t offset() const { return slot << kAddressBits | address; }

 private:
  static constexpr int kAddressBits = 56;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
};

/// Most bytes in a frame: an urgent message waits for no more than this per connection.
constexpr size_t kFrameBytes = 256 * 1024;
static_assert(kFrameBytes % kLandingGrain == 0);
/// More than this in one message is garbage.
constexpr uint64_t kMostBytes = uint64_t{1} << 36;

}  // namespace syrtos::world::tcp
