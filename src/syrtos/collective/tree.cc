#include "syrtos/collective/tree.h"

#include <bit>

#include "syrtos/base/error.h"

// Tree
//
// A binomial tree over n members. v is a member's distance from the root, around the group.
//
// Reduce, ceil(log2 n) rounds with d = 1, 2, 4 ...: a member whose v is an odd multiple of d sends
// what it has to v-d, its parent, which adds it; then it has nothing more to do. Each member but
// the root sends its buffer once.
//
// Broadcast, ceil(log2 n) rounds with d = ... 4, 2, 1: a member whose v is a multiple of 2d sends
// to v+d, its child, if there is one. n-1 messages together; the root sends ceil(log2 n) of them.
//
// All-reduce is a reduce to member 0 and a broadcast from it:
//   rounds    2 ceil(log2 n)
//   messages  2(n-1) together; from a member: 1 to its parent, and one to each of its children
//   bytes     the buffer with each message. The root takes and gives it ceil(log2 n) times, so the
//             tree is for small buffers. Halving and doubling has as few rounds and sends fewer
//             bytes, but n log2(n) messages in each half, all members at once: with several members
//             per host, where they share a link, the tree sends only one per host and round.
// The sum is made at the root and then copied: all members end with the same bits.
//
// Chain: a broadcast of large buffers. The members stand in a row, the root first; the buffer
// follows in `pieces`, each passed on while the next one arrives:
//   rounds    pieces + n - 2
//   messages  pieces from each member but the last
//   bytes     the buffer from each member but the last: nearly optimal, since with many pieces it
//             takes little longer than one copy of the buffer over one link.

namespace syrtos::collective {

namespace {

int from_root(int member, int members, int root) { return (member - root + members) % members; }
int to_member(int v, int members, int root) { return (v + root) % members; }

size_t depth(int members) {
  return static_cast<size_t>(std::bit_width(static_cast<unsigned>(members - 1)));
}

size_t children(int v, int members) {
  size_t number = 0;
  for (int d = 1; v % (2 * d) == 0 && v + d < members; d *= 2) ++number;
  return number;
}

Rounds chain(int member, int members, int root, size_t elements, int pieces) {
  const int v = from_root(member, members, root);
  const Split split({0, elements}, pieces);
  Rounds rounds;
  for (int step = 0; step < pieces + members - 2; ++step) {
    Round& round = rounds.emplace_back();
    const int leaving = step - v;
    const int arriving = leaving + 1;
    if (v < members - 1 && leaving >= 0 && leaving < pieces) {
      round.send(to_member(v + 1, members, root), split.chunk(leaving));
    }
    if (v > 0 && arriving >= 0 && arriving < pieces) {
      round.receive(to_member(v - 1, members, root), split.chunk(arriving));
    }
  }
  return rounds;
}

}  // namespace

void add_tree_reduce(Rounds& rounds, int member, int members, int root, Range range) {
  const int v = from_root(member, members, root);
  for (int d = 1; d < members; d *= 2) {
    Round& round = rounds.emplace_back();
    if (v % (2 * d) == d) round.send(to_member(v - d, members, root), range);
    if (v % (2 * d) == 0 && v + d < members) round.reduce(to_member(v + d, members, root), range);
  }
}

void add_tree_broadcast(Rounds& rounds, int member, int members, int root, Range range) {
  const int v = from_root(member, members, root);
  for (int d = 1 << depth(members) >> 1; d >= 1; d /= 2) {
    Round& round = rounds.emplace_back();
    if (v % (2 * d) == d) round.receive(to_member(v - d, members, root), range);
    if (v % (2 * d) == 0 && v + d < members) round.send(to_member(v + d, members, root), range);
  }
}

Rounds tree_all_reduce(int member, int members, size_t elements) {
  const Range whole{0, elements};
  Rounds rounds;
  rounds.reserve(2 * depth(members));
  add_tree_reduce(rounds, member, members, 0, whole);
  if (member == 0) rounds.back().settled = whole;
  add_tree_broadcast(rounds, member, members, 0, whole);
  return rounds;
}

Cost tree_all_reduce_cost(int member, int members, size_t elements) {
  const size_t messages = (member == 0 ? 0 : 1) + children(member, members);
  return {messages, messages * elements, 2 * depth(members)};
}

Rounds reduce_rounds(int member, int members, int root, size_t elements) {
  Rounds rounds;
  if (elements > 0) add_tree_reduce(rounds, member, members, root, {0, elements});
  return rounds;
}

Cost cost_reduce(int member, int members, int root, size_t elements, size_t element_bytes) {
  if (elements == 0) return {};
  const size_t messages = member == root ? 0 : 1;
  return {messages, messages * elements * element_bytes, depth(members)};
}

Rounds broadcast_rounds(Algorithm algorithm, int member, int members, int root, size_t elements,
                        int pieces) {
  if (members < 2 || elements == 0) return {};
  if (algorithm == Algorithm::ring) return chain(member, members, root, elements, pieces);
  if (algorithm != Algorithm::tree) {
    fail_request("there is no broadcast by {}: choose tree or ring", to_string(algorithm));
  }
  Rounds rounds;
  add_tree_broadcast(rounds, member, members, root, {0, elements});
  return rounds;
}

Cost cost_broadcast(Algorithm algorithm, int member, int members, int root, size_t elements,
                    size_t element_bytes, int pieces) {
  if (members < 2 || elements == 0) return {};
  const int v = from_root(member, members, root);
  const size_t bytes = elements * element_bytes;
  if (algorithm == Algorithm::ring) {
    const size_t messages = v < members - 1 ? std::min(static_cast<size_t>(pieces), elements) : 0;
    return {messages, messages > 0 ? bytes : 0, static_cast<size_t>(pieces + members - 2)};
  }
  return {children(v, members), children(v, members) * bytes, depth(members)};
}

}  // namespace syrtos::collective
