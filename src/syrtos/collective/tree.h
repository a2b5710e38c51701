#pragma once

#include "syrtos/collective/plan.h"

namespace syrtos::collective {

void add_tree_reduce(Plan& plan, int member, int members, int root, Range range);
void add_tree_broadcast(Plan& plan, int member, int members, int root, Range range);
Plan tree_all_reduce(int member, int members, size_t elements);

// Costs count elements as bytes.
Cost tree_all_reduce_cost(int member, int members, size_t elements);

}  // namespace syrtos::collective
