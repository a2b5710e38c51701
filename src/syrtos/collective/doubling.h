#pragma once

#include "syrtos/collective/rounds.h"

namespace syrtos::collective {

Rounds doubling_all_reduce(int member, int members, size_t elements);
/// Counts elements as bytes.
Cost doubling_all_reduce_cost(int member, int members, size_t elements);

}  // namespace syrtos::collective
