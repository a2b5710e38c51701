#include "syrtos/collective/halving_doubling.h"

#include <bit>
#include <numeric>

// Recursive halving and doubling
//
// The elements are split into n chunks, as many as there are members; member v owns chunk v.
//
// Halving (a reduce-scatter), ceil(log2 n) rounds. A member is responsible for a block of s chunks
// that its own one begins or lies in: s = n at first, and about half of it after each round. It
// sends the part that it gives up to a partner that keeps it, and adds what arrives to the part
// that it keeps. In the end each member has the sum of its own chunk.
//
// Doubling (an all-gather), the same rounds backwards: what was given up comes back, complete.
//
//   rounds    2 ceil(log2 n)
//   bytes     2(n-1)/n of the buffer from each member: bandwidth-optimal, in few rounds.
//   messages  one in each round; two if n is no power of two and the part goes over the end
//
// When n is a power of two, members pair up: with distance d = n/2, n/4 ... 1 the partner is v xor
// d, and the two share an aligned block of 2d chunks of which each keeps the half with its own
// chunk.
//
// For every other n members stand in a circle, and all numbers are modulo n. Member v is
// responsible for chunks v to v+s-1. With t = ceil(s/2) it keeps chunks v to v+t-1, sends chunks
// v+t to v+s-1 to member v+t, for whom they are the first ones, and adds what comes from member v-t
// to its own first s-t. (Bruck's all-gather, and Traeff's reduce-scatter that mirrors it.) No
// member has to fold in before the others begin, which would cost two more rounds of the whole
// buffer.
//
// Empty chunks, which are the last ones, are not sent.
// Each chunk is summed at one member and then copied: all members end with the same bits.

namespace syrtos::collective {

namespace {

bool is_power_of_two(int n) { return std::has_single_bit(static_cast<unsigned>(n)); }

/// The block of `size` chunks, a power of two, in which `position` lies.
Range block_of(const Split& split, int position, int size) {
  const int from = position & ~(size - 1);
  return split.chunks(from, from + size);
}

/// Chunks `from` to `from + number - 1` around the circle: the ranges before and after its end.
struct Arc {
  Arc(const Split& split, int n, int from, int number) {
    const int first = from % n;
    const int before = std::min(number, n - first);
    head = split.chunks(first, first + before);
    tail = split.chunks(0, number - before);
  }
  Range head, tail;
};

void add(Round& round, Transfer::Kind kind, int peer, const Arc& arc) {
  round.add(kind, peer, arc.head);
  round.add(kind, peer, arc.tail);
}

void count(Cost& cost, Range sent) {
  cost.messages_sent += sent.count > 0 ? 1 : 0;
  cost.bytes_sent += sent.count;
}

void count(Cost& cost, const Arc& sent) {
  count(cost, sent.head);
  count(cost, sent.tail);
}

/// Chunks that a member is responsible for before a round of halving and after it.
struct Step {
  int s, t;
};

std::vector<Step> steps_of(int n) {
  std::vector<Step> steps;
  for (int s = n; s > 1; s = (s + 1) / 2) steps.push_back({s, (s + 1) / 2});
  return steps;
}

}  // namespace

void add_halving(Rounds& rounds, const Circle& circle, int position, const Split& split) {
  const int n = static_cast<int>(circle.size());
  const auto member = [&](int at) { return circle[static_cast<size_t>(at % n)]; };
  if (is_power_of_two(n)) {
    for (int d = n / 2; d >= 1; d /= 2) {
      const int partner = position ^ d;
      Round& round = rounds.emplace_back();
      round.send(member(partner), block_of(split, partner, d));
      round.reduce(member(partner), block_of(split, position, d));
    }
    return;
  }
  for (const auto& [s, t] : steps_of(n)) {
    Round& round = rounds.emplace_back();
    add(round, Transfer::Kind::send, member(position + t), Arc(split, n, position + t, s - t));
    add(round, Transfer::Kind::reduce, member(position + n - t), Arc(split, n, position, s - t));
  }
}

void add_doubling(Rounds& rounds, const Circle& circle, int position, const Split& split) {
  const int n = static_cast<int>(circle.size());
  const auto member = [&](int at) { return circle[static_cast<size_t>(at % n)]; };
  if (is_power_of_two(n)) {
    for (int d = 1; d < n; d *= 2) {
      const int partner = position ^ d;
      Round& round = rounds.emplace_back();
      round.send(member(partner), block_of(split, position, d));
      round.receive(member(partner), block_of(split, partner, d));
    }
    return;
  }
  const std::vector<Step> steps = steps_of(n);
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto [s, t] = *step;
    Round& round = rounds.emplace_back();
    add(round, Transfer::Kind::send, member(position + n - t), Arc(split, n, position, s - t));
    add(round, Transfer::Kind::receive, member(position + t), Arc(split, n, position + t, s - t));
  }
}

Rounds halving_doubling_all_reduce(int member, int members, size_t elements) {
  Circle circle(static_cast<size_t>(members));
  std::iota(circle.begin(), circle.end(), 0);
  const Split split({0, elements}, members);
  Rounds rounds;
  add_halving(rounds, circle, member, split);
  rounds.back().settled = split.chunk(member);
  add_doubling(rounds, circle, member, split);
  return rounds;
}

Cost halving_cost(int members, int position, const Split& split) {
  Cost cost;
  if (is_power_of_two(members)) {
    for (int d = members / 2; d >= 1; d /= 2) count(cost, block_of(split, position ^ d, d));
  } else {
    for (const auto& [s, t] : steps_of(members)) {
      count(cost, Arc(split, members, position + t, s - t));
    }
  }
  // All but its own chunk leaves it.
  cost.bytes_sent = split.chunks(0, members).count - split.chunk(position).count;
  cost.rounds = std::bit_width(static_cast<unsigned>(members - 1));
  return cost;
}

Cost doubling_cost(int members, int position, const Split& split) {
  Cost cost;
  if (is_power_of_two(members)) {
    for (int d = 1; d < members; d *= 2) count(cost, block_of(split, position, d));
  } else {
    for (const auto& [s, t] : steps_of(members)) count(cost, Arc(split, members, position, s - t));
  }
  cost.rounds = std::bit_width(static_cast<unsigned>(members - 1));
  return cost;
}

Cost halving_doubling_all_reduce_cost(int member, int members, size_t elements) {
  const Split split({0, elements}, members);
  Cost cost = halving_cost(members, member, split);
  cost += doubling_cost(members, member, split);
  return cost;
}

}  // namespace syrtos::collective
