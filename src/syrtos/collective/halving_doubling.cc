#include "syrtos/collective/halving_doubling.h"

#include <bit>

// Recursive halving and doubling
//
// For p members, a power of two. The elements are split into p chunks; a block is 2^k neighbouring
// chunks that begins at a multiple of 2^k.
//
// Halving (a reduce-scatter), log2(p) rounds: with distance d = p/2, p/4 ... 1 the member at
// position v and its partner, v xor d, share a block of 2d chunks. Each keeps the half in which its
// own chunk lies: it sends the other half and adds what arrives to the one it keeps.
//
// Doubling (an all-gather), log2(p) rounds: with d = 1, 2 ... p/2 each sends the block of d chunks
// that it has to its partner, v xor d, and has twice as much afterwards.
//
// All-reduce is one after the other:
//   rounds    2 log2(p)
//   messages  2 log2(p) from each member
//   bytes     2(p-1)/p of the buffer from each member: bandwidth-optimal, in few rounds.
//
// When n is no power of two, p is the one below, and the surplus of n-p members folds in first:
// of the first 2(n-p) members each odd one sends its whole buffer to the even one before it, which
// takes part for both and sends the result back at the end:
//   rounds    2 log2(p) + 2
//   bytes     the buffer from the odd ones, 1 + 2(p-1)/p buffers from their even partners. The two
//             rounds move the whole buffer each, so that this takes twice as long as with p
//             members: fine for small buffers, where rounds count, and worse than the ring for
//             large ones.
// Empty blocks, which are the last ones, are not sent.
// Each chunk is summed at one member and then copied: all members end with the same bits.

namespace syrtos::collective {

namespace {

/// The block of `size` chunks, a power of two, in which `position` lies.
Range block_of(const Split& split, int position, int size) {
  const int from = position & ~(size - 1);
  return split.chunks(from, from + size);
}

int power_below(int n) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(n))); }

void count(Cost& cost, Range sent) {
  cost.messages_sent += sent.count > 0 ? 1 : 0;
  cost.bytes_sent += sent.count;
}

/// Who takes part after folding, and who speaks for whom.
struct Fold {
  explicit Fold(int members) : n(members), p(power_below(members)), surplus(n - p) {}
  bool is_folded(int member) const { return member < 2 * surplus && member % 2 == 1; }
  bool has_folded(int member) const { return member < 2 * surplus && member % 2 == 0; }
  int position(int member) const { return member < 2 * surplus ? member / 2 : member - surplus; }
  Circle circle() const {
    Circle members;
    for (int member = 0; member < n; ++member) {
      if (!is_folded(member)) members.push_back(member);
    }
    return members;
  }
  const int n, p, surplus;
};

}  // namespace

void add_halving(Plan& plan, const Circle& circle, int position, const Split& split) {
  for (int d = static_cast<int>(circle.size()) / 2; d >= 1; d /= 2) {
    const int partner = position ^ d;
    Round& round = plan.add_round();
    round.send(circle[static_cast<size_t>(partner)], block_of(split, partner, d));
    round.reduce(circle[static_cast<size_t>(partner)], block_of(split, position, d));
  }
}

void add_doubling(Plan& plan, const Circle& circle, int position, const Split& split) {
  for (int d = 1; d < static_cast<int>(circle.size()); d *= 2) {
    const int partner = position ^ d;
    Round& round = plan.add_round();
    round.send(circle[static_cast<size_t>(partner)], block_of(split, position, d));
    round.receive(circle[static_cast<size_t>(partner)], block_of(split, partner, d));
  }
}

Plan halving_doubling_all_reduce(int member, int members, size_t elements) {
  const Fold fold(members);
  const Range whole{0, elements};
  const Split split(whole, fold.p);
  Plan plan;
  if (fold.surplus > 0) {
    Round& first = plan.add_round();
    if (fold.is_folded(member)) first.send(member - 1, whole);
    if (fold.has_folded(member)) first.reduce(member + 1, whole);
  }
  if (fold.is_folded(member)) {
    plan.rounds.resize(static_cast<size_t>(1 + 2 * std::countr_zero(unsigned(fold.p))));
  } else {
    const Circle circle = fold.circle();
    const int position = fold.position(member);
    add_halving(plan, circle, position, split);
    plan.rounds.back().settled = split.chunk(position);
    add_doubling(plan, circle, position, split);
  }
  if (fold.surplus > 0) {
    Round& last = plan.add_round();
    if (fold.is_folded(member)) last.receive(member - 1, whole);
    if (fold.has_folded(member)) last.send(member + 1, whole);
  }
  return plan;
}

Cost halving_cost(int members, int position, const Split& split) {
  Cost cost;
  for (int d = members / 2; d >= 1; d /= 2) {
    cost.messages_sent += block_of(split, position ^ d, d).count > 0 ? 1 : 0;
    ++cost.rounds;
  }
  // All but its own chunk leaves it.
  cost.bytes_sent = split.chunks(0, members).count - split.chunk(position).count;
  return cost;
}

Cost doubling_cost(int members, int position, const Split& split) {
  Cost cost;
  for (int d = 1; d < members; d *= 2) {
    count(cost, block_of(split, position, d));
    ++cost.rounds;
  }
  return cost;
}

Cost halving_doubling_all_reduce_cost(int member, int members, size_t elements) {
  const Fold fold(members);
  const Split split({0, elements}, fold.p);
  const auto rounds =
      static_cast<size_t>(2 * std::countr_zero(unsigned(fold.p)) + (fold.surplus > 0 ? 2 : 0));
  if (fold.is_folded(member)) return {1, elements, rounds};
  Cost cost = halving_cost(fold.p, fold.position(member), split);
  cost += doubling_cost(fold.p, fold.position(member), split);
  if (fold.has_folded(member)) count(cost, {0, elements});
  cost.rounds = rounds;
  return cost;
}

}  // namespace syrtos::collective
