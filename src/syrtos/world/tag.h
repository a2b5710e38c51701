#pragma once

#include <cstdint>
#include <string>

namespace syrtos::world {

using Rank = int;

/// What a message is part of. The name appears in messages to people.
enum class Purpose : uint8_t {
  control,  ///< starting, stopping, comparing, small tables
  barrier,
  broadcast,
  reduce,
  reduce_scatter,
  all_gather,
  gather,
  all_reduce,
  push,         ///< gradients to a server
  pull,         ///< weights, or averaged gradients, from a server
  permit,       ///< a server's leave to send a gradient
  statistics,   ///< of batch norm, inside a pass
  news,         ///< for whoever watches a run
  push_header,  ///< what a worker is about to push, or asks for
  answer,       ///< a server's, before the weights
  readiness,    ///< of a worker that can receive weights
  activations,  ///< of layers that workers have divided between them, inside a pass
};

const char* to_string(Purpose purpose);

/// Names a message between two ranks. Purpose, item and part make a lane: messages of one lane from
/// one rank to another arrive in the order in which they were sent. The round must be equal on both
/// sides, as the size: ranks that are not at the same place of their program find out.
struct Tag {
  Purpose purpose = Purpose::control;
  uint16_t item = 0;   ///< such as a bucket
  uint32_t round = 0;  ///< such as a step
  uint8_t part = 0;    ///< of the item, where several cross beside each other

  uint32_t lane() const {
    return static_cast<uint32_t>(part) << 24 | static_cast<uint32_t>(purpose) << 16 | item;
  }
};

/// "all-reduce 3, round 17".
std::string to_string(const Tag& tag);

}  // namespace syrtos::world
