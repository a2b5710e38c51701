#include "syrtos/collective/rounds.h"

#include <algorithm>
#include <numeric>

#include "syrtos/collective/doubling.h"
#include "syrtos/collective/halving_doubling.h"
#include "syrtos/collective/hierarchical.h"
#include "syrtos/collective/ring.h"
#include "syrtos/collective/tree.h"

namespace syrtos::collective {

Split::Split(Range whole, int chunks) : whole_(whole), chunks_(static_cast<size_t>(chunks)) {}

Split::Split(const std::vector<size_t>& sizes) : chunks_(sizes.size()), ends_(sizes) {
  std::partial_sum(ends_.begin(), ends_.end(), ends_.begin());
  whole_.count = ends_.empty() ? 0 : ends_.back();
}

size_t Split::begin(int index) const {
  const size_t chunk = std::min(static_cast<size_t>(index), chunks_);
  if (!ends_.empty()) return chunk == 0 ? 0 : ends_[chunk - 1];
  return whole_.first + chunk * (whole_.count / chunks_) + std::min(chunk, whole_.count % chunks_);
}

Range Split::chunks(int from, int to) const {
  const size_t first = begin(from);
  return {first, begin(to) - first};
}

Range chunk_of(size_t elements, int chunks, int index) {
  return Split({0, elements}, chunks).chunk(index);
}

Cost& Cost::operator+=(const Cost& other) {
  messages_sent += other.messages_sent;
  bytes_sent += other.bytes_sent;
  rounds += other.rounds;
  return *this;
}

namespace {

Circle everybody(int members) {
  Circle circle(static_cast<size_t>(members));
  std::iota(circle.begin(), circle.end(), 0);
  return circle;
}

[[noreturn]] void refuse(const char* what, Algorithm algorithm) {
  fail_request("there is no {} by {}: choose ring or halving-doubling", what, to_string(algorithm));
}

}  // namespace

Rounds all_reduce_rounds(Algorithm algorithm, int member, const Group& group, size_t elements) {
  if (group.size() < 2 || elements == 0) return {};
  switch (algorithm) {
    case Algorithm::ring:
      return ring_all_reduce(member, group.size(), elements);
    case Algorithm::halving_doubling:
      return halving_doubling_all_reduce(member, group.size(), elements);
    case Algorithm::doubling:
      return doubling_all_reduce(member, group.size(), elements);
    case Algorithm::tree:
      return tree_all_reduce(member, group.size(), elements);
    case Algorithm::hierarchical:
      return hierarchical_all_reduce(member, group, elements);
    case Algorithm::automatic:
    case Algorithm::native:
      break;
  }
  refuse("way of an all-reduce", algorithm);
}

Cost cost_all_reduce(Algorithm algorithm, int member, const Group& group, size_t elements,
                     size_t element_bytes) {
  if (group.size() < 2 || elements == 0) return {};
  Cost cost;
  switch (algorithm) {
    case Algorithm::ring:
      cost = ring_all_reduce_cost(member, group.size(), elements);
      break;
    case Algorithm::halving_doubling:
      cost = halving_doubling_all_reduce_cost(member, group.size(), elements);
      break;
    case Algorithm::doubling:
      cost = doubling_all_reduce_cost(member, group.size(), elements);
      break;
    case Algorithm::tree:
      cost = tree_all_reduce_cost(member, group.size(), elements);
      break;
    case Algorithm::hierarchical:
      cost = hierarchical_all_reduce_cost(member, group, elements);
      break;
    case Algorithm::automatic:
    case Algorithm::native:
      refuse("cost of an all-reduce", algorithm);
  }
  cost.bytes_sent *= element_bytes;
  return cost;
}

Rounds reduce_scatter_rounds(Algorithm algorithm, int member, const Group& group, size_t elements) {
  const int n = group.size();
  Rounds rounds;
  if (n < 2 || elements == 0) return rounds;
  const Split split({0, elements}, n);
  if (algorithm == Algorithm::ring) {
    add_ring_reduce_scatter(rounds, everybody(n), member, split);
  } else if (algorithm == Algorithm::halving_doubling) {
    add_halving(rounds, everybody(n), member, split);
  } else {
    refuse("reduce-scatter", algorithm);
  }
  return rounds;
}

Cost cost_reduce_scatter(Algorithm algorithm, int member, const Group& group, size_t elements,
                         size_t element_bytes) {
  const int n = group.size();
  if (n < 2 || elements == 0) return {};
  const Split split({0, elements}, n);
  Cost cost = algorithm == Algorithm::ring ? ring_reduce_scatter_cost(n, member, split)
                                           : halving_cost(n, member, split);
  cost.bytes_sent *= element_bytes;
  return cost;
}

Rounds all_gather_rounds(Algorithm algorithm, int member, const Group& group, size_t elements) {
  const int n = group.size();
  Rounds rounds;
  if (n < 2 || elements == 0) return rounds;
  const Split split({0, elements}, n);
  if (algorithm == Algorithm::ring) {
    add_ring_all_gather(rounds, everybody(n), member, split);
  } else if (algorithm == Algorithm::halving_doubling) {
    add_doubling(rounds, everybody(n), member, split);
  } else {
    refuse("all-gather", algorithm);
  }
  return rounds;
}

Cost cost_all_gather(Algorithm algorithm, int member, const Group& group, size_t elements,
                     size_t element_bytes) {
  const int n = group.size();
  if (n < 2 || elements == 0) return {};
  const Split split({0, elements}, n);
  Cost cost = algorithm == Algorithm::ring ? ring_all_gather_cost(n, member, split)
                                           : doubling_cost(n, member, split);
  cost.bytes_sent *= element_bytes;
  return cost;
}

Rounds all_gather_rounds(int member, const std::vector<size_t>& sizes) {
  Rounds rounds;
  add_ring_all_gather(rounds, everybody(static_cast<int>(sizes.size())), member, Split(sizes));
  return rounds;
}

Cost cost_all_gather(int member, const std::vector<size_t>& sizes, size_t element_bytes) {
  Cost cost = ring_all_gather_cost(static_cast<int>(sizes.size()), member, Split(sizes));
  cost.bytes_sent *= element_bytes;
  return cost;
}

}  // namespace syrtos::collective
