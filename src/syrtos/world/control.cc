#include "syrtos/world/control.h"

namespace syrtos::world {

const char* name_of_control(uint16_t item) {
  switch (static_cast<ControlItem>(item)) {
    case ControlItem::link_speed:
      return "link speed";
    case ControlItem::server_layout:
      return "server's layout";
    case ControlItem::server_command:
      return "command to a server";
    case ControlItem::server_report:
      return "server's report";
    case ControlItem::servers_ended:
      return "end of the servers";
    case ControlItem::server_measures:
      return "server's measures";
    case ControlItem::part_list:
      return "what a part has";
    case ControlItem::part_tensor:
      return "a part's tensor";
    case ControlItem::part_wanted:
      return "request for a part's tensor";
    case ControlItem::batch_done:
      return "end of a batch";
    case ControlItem::meeting:
      return "meeting";
    case ControlItem::clock_question:
      return "clock question";
    case ControlItem::clock_answer:
      return "clock answer";
    case ControlItem::clock_error:
      return "clock error";
    case ControlItem::probe_small:
      return "probe's small message";
    case ControlItem::probe_large:
      return "probe's large message";
    case ControlItem::probe_share:
      return "probe's results";
    case ControlItem::probe_barrier:
      return "probe's barrier";
    case ControlItem::simulated_barrier:
      return "simulation's barrier";
  }
  return nullptr;
}

}  // namespace syrtos::world
