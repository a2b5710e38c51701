#include "syrtos/collective/doubling.h"

#include <bit>

// Recursive doubling
//
// Members pair up and swap what they have: each sends its whole buffer and adds what arrives. With
// distance d = 1, 2, 4 ... the partner of v is v xor d, so after each round twice as many members
// have the sum of their block.
//
// p is the largest power of two that is at most n. The members from p on have no partner: first
// each of them sends to v-p, who adds it; then the first p swap; then v-p sends the sum back.
//
//   rounds    log2 p, and 2 more if n is no power of two: about half of what any other one needs
//   messages  one in each round from each of the first p; one from each of the others
//   bytes     the buffer with each message: log2(p) buffers instead of less than two. For small
//             buffers, where the number of rounds is all that counts; for two members it sends no
//             more than the others do.
// Partners add the same two numbers, and a + b has the bits of b + a: by induction all members of a
// block have the same bits.

namespace syrtos::collective {

namespace {

int power_below(int members) {
  return static_cast<int>(std::bit_floor(static_cast<unsigned>(members)));
}

}  // namespace

Rounds doubling_all_reduce(int member, int members, size_t elements) {
  const Range whole{0, elements};
  const int p = power_below(members);
  const int folded = members - p;  // so many have no partner
  Rounds rounds;
  if (folded > 0) {
    Round& round = rounds.emplace_back();
    if (member >= p) round.send(member - p, whole);
    if (member < folded) round.reduce(member + p, whole);
  }
  for (int d = 1; d < p; d *= 2) {
    Round& round = rounds.emplace_back();
    if (member < p) round.swap(member ^ d, whole);
  }
  if (member < p) rounds.back().settled = whole;
  if (folded > 0) {
    Round& round = rounds.emplace_back();
    if (member >= p) round.receive(member - p, whole);
    if (member < folded) round.send(member + p, whole);
  }
  return rounds;
}

Cost doubling_all_reduce_cost(int member, int members, size_t elements) {
  const int p = power_below(members);
  const int folded = members - p;
  const auto swaps = static_cast<size_t>(std::bit_width(static_cast<unsigned>(p)) - 1);
  const size_t messages = member >= p ? 1 : swaps + (member < folded ? 1 : 0);
  return {messages, messages * elements, swaps + (folded > 0 ? 2 : 0)};
}

}  // namespace syrtos::collective
