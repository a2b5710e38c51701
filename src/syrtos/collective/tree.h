#pragma once

#include "syrtos/collective/rounds.h"

namespace syrtos::collective {

void add_tree_reduce(Rounds& rounds, int member, int members, int root, Range range);
void add_tree_broadcast(Rounds& rounds, int member, int members, int root, Range range);
Rounds tree_all_reduce(int member, int members, size_t elements);

// Costs count elements as bytes.
Cost tree_all_reduce_cost(int member, int members, size_t elements);

}  // namespace syrtos::collective
