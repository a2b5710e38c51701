#pragma once

#include "syrtos/world/tag.h"

namespace syrtos::world {

/// Every item of Purpose::control that the program uses, so that no two subjects share a lane. A
/// text takes the item after its own too, for its size goes ahead under the first one.
enum class ControlItem : uint16_t {
  // collective
  link_speed = 90,
  // strategy: servers
  server_layout = 100,
  server_command = 101,
  server_report = 102,
  servers_ended = 103,
  server_measures = 104,  ///< a text: 105 too
  // strategy: workers meet
  meeting = 110,  ///< a text: 111 too
  // train
  clock_question = 120,
  clock_answer = 121,
  clock_error = 122,
  part_list = 124,  ///< a text: 125 too
  part_tensor = 126,
  part_wanted = 127,
  batch_done = 128,
  // planner: a cluster is measured
  probe_small = 130,
  probe_large = 131,
  probe_share = 132,
  probe_barrier = 133,
  // planner: a simulated training begins and ends
  simulated_barrier = 140,
};

constexpr Tag control_tag(ControlItem item, uint32_t round = 0) {
  return {Purpose::control, static_cast<uint16_t>(item), round};
}

/// "meeting"; null when no item has this number.
const char* name_of_control(uint16_t item);

}  // namespace syrtos::world
