#include "syrtos/collective/hierarchical.h"

#include <algorithm>
#include <bit>

#include "syrtos/collective/halving_doubling.h"
#include "syrtos/collective/ring.h"

// Hierarchical
//
// For h hosts with several members each: l on this one, k on the host that has the fewest. The
// elements are split into k chunks, and the first k members of each host are its carriers: carrier
// j is responsible for chunk j.
//
// 1. Within each host, a ring reduce-scatter of the k chunks among its l members, l-1 rounds:
//    afterwards carrier j has the host's sum of chunk j.
// 2. Between the hosts, k all-reduces beside each other: carriers j of all hosts sum up chunk j, by
//    halving and doubling.
// 3. Within each host, a ring all-gather of the k chunks, l-1 rounds.
//
// With k = l on all hosts, n = h*l:
//   rounds    2(l-1) within and 2 ceil(log2 h) between; a flat ring has 2(n-1)
//   messages  as many from each member
//   bytes     from each member 2(l-1)/l of the buffer within its host and 2(h-1)/h of 1/l of it
//             between hosts. A host sends 2(h-1)/h of the buffer over the network, the least that
//             is possible, with l senders sharing the work.
// With uneven hosts the members of the larger ones pass k chunks around instead of l, so each round
// within takes longer; the network carries the same. On one host this is a ring, with one member
// per host it is step 2 alone. Empty chunks are not sent. Each element is summed at one member and
// then copied: all members end with the same bits.

namespace syrtos::collective {

namespace {

struct Layout {
  Layout(const Group& group, int member)
      : hosts(group.hosts()), host(group.host_of(member)), local(group.on_host(host)) {
    std::vector<int> number(static_cast<size_t>(hosts), 0);
    for (const int each : group.host) ++number[static_cast<size_t>(each)];
    carriers = *std::min_element(number.begin(), number.end());
    position = static_cast<int>(std::find(local.begin(), local.end(), member) - local.begin());
  }

  bool is_carrier() const { return position < carriers; }
  size_t rounds_between() const {
    return 2 * static_cast<size_t>(std::bit_width(static_cast<unsigned>(hosts - 1)));
  }

  int hosts, host;
  Circle local;  ///< the members of this host
  int carriers;
  int position;  ///< among them
};

Circle carriers_of_all(const Group& group, const Layout& layout) {
  Circle circle;
  for (int host = 0; host < layout.hosts; ++host) {
    circle.push_back(group.on_host(host)[static_cast<size_t>(layout.position)]);
  }
  return circle;
}

void add_between(Rounds& rounds, const Group& group, const Layout& layout, Range chunk) {
  const Circle circle = carriers_of_all(group, layout);
  const Split split(chunk, layout.hosts);
  add_halving(rounds, circle, layout.host, split);
  // On one host the chunk is complete after the rounds within.
  rounds.back().settled = split.chunk(layout.host);
  add_doubling(rounds, circle, layout.host, split);
}

}  // namespace

Rounds hierarchical_all_reduce(int member, const Group& group, size_t elements) {
  const Layout layout(group, member);
  const Split split({0, elements}, layout.carriers);
  Rounds rounds;
  add_ring_reduce_scatter(rounds, layout.local, layout.position, split);
  if (layout.is_carrier()) {
    add_between(rounds, group, layout, split.chunk(layout.position));
  } else {
    rounds.resize(rounds.size() + layout.rounds_between());
  }
  add_ring_all_gather(rounds, layout.local, layout.position, split);
  return rounds;
}

Cost hierarchical_all_reduce_cost(int member, const Group& group, size_t elements) {
  const Layout layout(group, member);
  const int l = static_cast<int>(layout.local.size());
  const Split split({0, elements}, layout.carriers);
  Cost cost = ring_reduce_scatter_cost(l, layout.position, split);
  cost += ring_all_gather_cost(l, layout.position, split);
  const Split between(split.chunk(layout.position), layout.hosts);
  if (layout.is_carrier()) {
    cost += halving_cost(layout.hosts, layout.host, between);
    cost += doubling_cost(layout.hosts, layout.host, between);
  } else {
    cost.rounds += layout.rounds_between();
  }
  return cost;
}

}  // namespace syrtos::collective
