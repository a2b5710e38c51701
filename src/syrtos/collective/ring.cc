#include "syrtos/collective/ring.h"

#include <numeric>

// Ring
//
// The members stand in a circle; each sends to the next and receives from the previous one. The
// elements are split into n chunks, as many as there are members.
//
// Reduce-scatter, n-1 rounds: in step s the member at position p sends chunk p-s-1 and adds what
// arrives to chunk p-s-2 (all modulo n). A chunk gathers one summand at each stop, and ends at the
// position of its own number, complete.
//
// All-gather, n-1 rounds: in step s it sends chunk p-s and receives chunk p-s-1. The complete
// chunks go once around.
//
// All-reduce is one after the other:
//   rounds    2(n-1)
//   messages  2(n-1) from each member
//   bytes     2(n-1)/n of the buffer from each member: the least that any all-reduce can do, since
//             each member must pass on n-1 of n parts of the sum that it does not own and of the
//             one that it does. Bandwidth-optimal; the price is the number of rounds.
// With fewer elements than members the last chunks are empty and not sent, so a member sends
// 2*min(n, elements) messages less those of the two chunks that it does not send: its own in the
// first half, its successor's in the second.
// Each chunk is summed along one path and then copied: all members end with the same bits.

namespace syrtos::collective {

namespace {

int around(int position, int n) { return (position % n + n) % n; }

/// The cost of sending all chunks but one.
Cost all_but(const Split& split, int n, int chunk) {
  const Range left_out = split.chunk(chunk);
  const size_t elements = split.chunks(0, n).count;
  size_t filled = 0;
  for (int c = 0; c < n; ++c) filled += split.chunk(c).count > 0 ? 1 : 0;
  return {filled - (left_out.count > 0 ? 1 : 0), elements - left_out.count,
          static_cast<size_t>(n - 1)};
}

}  // namespace

void add_ring_reduce_scatter(Rounds& rounds, const Circle& circle, int position,
                             const Split& split) {
  const int n = static_cast<int>(circle.size());
  const int next = circle[static_cast<size_t>(around(position + 1, n))];
  const int previous = circle[static_cast<size_t>(around(position - 1, n))];
  for (int step = 0; step < n - 1; ++step) {
    Round& round = rounds.emplace_back();
    round.send(next, split.chunk(around(position - step - 1, n)));
    round.reduce(previous, split.chunk(around(position - step - 2, n)));
  }
}

void add_ring_all_gather(Rounds& rounds, const Circle& circle, int position, const Split& split) {
  const int n = static_cast<int>(circle.size());
  const int next = circle[static_cast<size_t>(around(position + 1, n))];
  const int previous = circle[static_cast<size_t>(around(position - 1, n))];
  for (int step = 0; step < n - 1; ++step) {
    Round& round = rounds.emplace_back();
    round.send(next, split.chunk(around(position - step, n)));
    round.receive(previous, split.chunk(around(position - step - 1, n)));
  }
}

Rounds ring_all_reduce(int member, int members, size_t elements) {
  Circle circle(static_cast<size_t>(members));
  std::iota(circle.begin(), circle.end(), 0);
  const Split split({0, elements}, members);
  Rounds rounds;
  rounds.reserve(2 * circle.size());
  add_ring_reduce_scatter(rounds, circle, member, split);
  rounds.back().settled = split.chunk(member);
  add_ring_all_gather(rounds, circle, member, split);
  return rounds;
}

Cost ring_reduce_scatter_cost(int members, int position, const Split& split) {
  return all_but(split, members, position);
}

Cost ring_all_gather_cost(int members, int position, const Split& split) {
  return all_but(split, members, around(position + 1, members));
}

Cost ring_all_reduce_cost(int member, int members, size_t elements) {
  const Split split({0, elements}, members);
  Cost cost = ring_reduce_scatter_cost(members, member, split);
  cost += ring_all_gather_cost(members, member, split);
  return cost;
}

}  // namespace syrtos::collective
