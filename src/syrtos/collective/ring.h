#pragma once

#include <vector>

#include "syrtos/collective/rounds.h"

namespace syrtos::collective {

/// Members in the order of their positions, which need not be the group's.
using Circle = std::vector<int>;

void add_ring_reduce_scatter(Rounds& rounds, const Circle& circle, int position,
                             const Split& split);
void add_ring_all_gather(Rounds& rounds, const Circle& circle, int position, const Split& split);
Rounds ring_all_reduce(int member, int members, size_t elements);

// Costs count elements as bytes.
Cost ring_reduce_scatter_cost(int members, int position, const Split& split);
Cost ring_all_gather_cost(int members, int position, const Split& split);
Cost ring_all_reduce_cost(int member, int members, size_t elements);

}  // namespace syrtos::collective
