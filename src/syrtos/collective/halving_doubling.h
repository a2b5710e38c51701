#pragma once

#include "syrtos/collective/ring.h"

namespace syrtos::collective {

void add_halving(Rounds& rounds, const Circle& circle, int position, const Split& split);
void add_doubling(Rounds& rounds, const Circle& circle, int position, const Split& split);
Rounds halving_doubling_all_reduce(int member, int members, size_t elements);

// Costs count elements as bytes.
Cost halving_cost(int members, int position, const Split& split);
Cost doubling_cost(int members, int position, const Split& split);
Cost halving_doubling_all_reduce_cost(int member, int members, size_t elements);

}  // namespace syrtos::collective
