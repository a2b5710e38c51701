#include <bit>
#include <numeric>

#include "syrtos/collective/rounds.h"

// Gather
//
// One round: each member sends what it has straight to the root, which receives from all at once.
//   messages  1 from each member but the root, none from those that have nothing
//   bytes     what the member has
// The root's link carries everything once, which no gather can avoid.
//
// Barrier
//
// Dissemination: in round r, with d = 2^r < n, each member sends an empty message to the member d
// after it and waits for one from the member d before it. After ceil(log2 n) rounds each has heard,
// directly or not, of all.
//   rounds    ceil(log2 n)
//   messages  ceil(log2 n) from each member, without bytes

namespace syrtos::collective {

Rounds gather_rounds(int member, int root, const std::vector<size_t>& sizes) {
  Rounds rounds;
  Round& round = rounds.emplace_back();
  if (member != root) {
    round.send(root, {0, sizes[static_cast<size_t>(member)]});
    return rounds;
  }
  size_t first = 0;
  for (int other = 0; other < static_cast<int>(sizes.size()); ++other) {
    const size_t count = sizes[static_cast<size_t>(other)];
    if (other != root) round.receive(other, {first, count});
    first += count;
  }
  return rounds;
}

Cost cost_gather(int member, int root, const std::vector<size_t>& sizes, size_t element_bytes) {
  const size_t count = member == root ? 0 : sizes[static_cast<size_t>(member)];
  return {count > 0 ? size_t{1} : 0, count * element_bytes, 1};
}

Rounds barrier_rounds(int member, int members) {
  Rounds rounds;
  for (int d = 1; d < members; d *= 2) {
    rounds.emplace_back().transfers = {
        {Transfer::Kind::send, (member + d) % members, 0, 0},
        {Transfer::Kind::receive, (member - d + members) % members, 0, 0},
    };
  }
  return rounds;
}

Cost cost_barrier(int members) {
  const auto rounds = static_cast<size_t>(std::bit_width(static_cast<unsigned>(members - 1)));
  return {rounds, 0, rounds};
}

}  // namespace syrtos::collective
