#pragma once

#include "syrtos/collective/rounds.h"

namespace syrtos::collective {

Rounds hierarchical_all_reduce(int member, const Group& group, size_t elements);
/// Counts elements as bytes.
Cost hierarchical_all_reduce_cost(int member, const Group& group, size_t elements);

}  // namespace syrtos::collective
