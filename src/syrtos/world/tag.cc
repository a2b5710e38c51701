#include "syrtos/world/tag.h"

#include <fmt/format.h>

#include "syrtos/world/control.h"

namespace syrtos::world {

const char* to_string(Purpose purpose) {
  switch (purpose) {
    case Purpose::control:
      return "control message";
    case Purpose::barrier:
      return "barrier";
    case Purpose::broadcast:
      return "broadcast";
    case Purpose::reduce:
      return "reduce";
    case Purpose::reduce_scatter:
      return "reduce-scatter";
    case Purpose::all_gather:
      return "all-gather";
    case Purpose::gather:
      return "gather";
    case Purpose::all_reduce:
      return "all-reduce";
    case Purpose::push:
      return "push";
    case Purpose::pull:
      return "pull";
    case Purpose::permit:
      return "permit";
    case Purpose::statistics:
      return "batch-norm statistics";
    case Purpose::news:
      return "news";
    case Purpose::push_header:
      return "push header";
    case Purpose::answer:
      return "server's answer";
    case Purpose::readiness:
      return "readiness";
    case Purpose::activations:
      return "activations";
  }
  return "unknown";
}

std::string to_string(const Tag& tag) {
  if (tag.purpose == Purpose::control) {
    const char* name = name_of_control(tag.item);
    if (name != nullptr) return fmt::format("{}, round {}", name, tag.round);
  }
  const std::string part = tag.part == 0 ? "" : fmt::format(" part {}", tag.part);
  return fmt::format("{} {}{}, round {}", to_string(tag.purpose), tag.item, part, tag.round);
}

}  // namespace syrtos::world
