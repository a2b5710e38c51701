#pragma once

#include <array>
#include <cstdint>

#include "syrtos/world/control.h"

namespace syrtos::strategy {

// What workers and servers say to each other about a piece of the parameters. A round of a piece
// between one worker and its server:
//
//   worker                               server
//     Push                       ->                    what comes, and how to use it
//                               <-       a byte        only with --permits: now you
//     the gradient               ->
//     a byte                     ->                    only with --permits, when the pass is over,
//                                                      which still reads the weights: now me
//                               <-       Pull, then weights (or averaged gradients)
//
// A Push can also ask for something else (Ask); then no gradient follows it.
// A worker that serves talks with itself too, so each kind of message has a purpose of its own.

enum class Ask : uint32_t {
  step = 0,       ///< a gradient comes
  agreement = 1,  ///< the weights of agreement `step` are wanted, in f32 whatever the wire
  rest = 2,       ///< nothing comes until the next agreement, nobody need wait for it: no answer
};

/// Goes before a gradient.
struct Push {
  double learning_rate = 0;
  double weight_decay = 0;
  /// By which the gradient was multiplied. Where workers do not take steps together, 0 says that
  /// there is none: the worker had no samples.
  double weight = 1;
  int64_t step = 0;
  int64_t updates = 0;  ///< that what the optimiser keeps had seen before this step
  uint32_t words = 0;   ///< of a sparse gradient
  Ask ask = Ask::step;
};

/// Goes before weights.
struct Pull {
  int64_t version = 0;  ///< updates that they have seen
  int64_t late = 0;     ///< 1: backup, the gradient before it came too late to count
  double waited_s = 0;  ///< for gradients of other workers, after this worker's had come
};

/// What rank 0 tells each server to do.
enum class Command : uint32_t {
  collect = 1,  ///< send what the optimiser keeps
  stop = 2,     ///< send the Report and end
  // Servers of their own tell what they measured (ServerObserver):
  tell_measures = 3,
  tell_trace = 4,
};

/// A server's last words.
struct Report {
  static constexpr size_t kLargest = 63;
  std::array<int64_t, kLargest + 1> staleness{};  ///< pushes by staleness; the last one: or more
  int64_t dropped = 0;                            ///< gradients that came too late
};

using world::control_tag;
using world::ControlItem;
using world::Purpose;
using world::Tag;

inline Tag header_tag(int piece, uint32_t round) {
  return {Purpose::push_header, static_cast<uint16_t>(piece), round};
}
inline Tag permit_tag(int piece, uint32_t round) {
  return {Purpose::permit, static_cast<uint16_t>(piece), round};
}
inline Tag ready_tag(int piece, uint32_t round) {
  return {Purpose::readiness, static_cast<uint16_t>(piece), round};
}
inline Tag answer_tag(int piece, uint32_t round) {
  return {Purpose::answer, static_cast<uint16_t>(piece), round};
}
inline Tag push_tag(int piece, uint32_t round) {
  return {Purpose::push, static_cast<uint16_t>(piece), round};
}
inline Tag pull_tag(int piece, uint32_t round) {
  return {Purpose::pull, static_cast<uint16_t>(piece), round};
}
/// Arenas of a piece that rank 0 brings at the start and fetches for a checkpoint.
inline Tag arena_tag(int piece, uint32_t arena) {
  return {Purpose::gather, static_cast<uint16_t>(piece), arena};
}
inline Tag layout_tag(uint32_t part) { return control_tag(ControlItem::server_layout, part); }
inline Tag command_tag(uint32_t number) { return control_tag(ControlItem::server_command, number); }
inline Tag report_tag() { return control_tag(ControlItem::server_report); }
/// What a server tells of its measures, as a text.
inline Tag told_tag(uint32_t number) { return control_tag(ControlItem::server_measures, number); }
/// Rank 0 tells each worker that all servers have ended.
inline Tag over_tag() { return control_tag(ControlItem::servers_ended); }

}  // namespace syrtos::strategy
