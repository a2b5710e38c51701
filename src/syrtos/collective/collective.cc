#include "syrtos/collective/collective.h"

#include <algorithm>
#include <cstring>

#include "syrtos/collective/run.h"
#include "syrtos/world/started.h"

namespace syrtos::collective {

namespace {

/// Messages from this size on are worth a second slice: below, a round is mostly latency.
constexpr size_t kSliceBytes = 256 * 1024;
/// Broadcasts from this size on go down a chain in pieces.
constexpr size_t kChainBytes = 1024 * 1024;
constexpr size_t kPieceBytes = 128 * 1024;

int member_of(const world::World& world, const Group& group) {
  const int member = group.index_of(world.rank());
  SYRTOS_CHECK(member >= 0, "rank {} is not in the group", world.rank());
  return member;
}

Cargo cargo_of(Floats values, const Exchange& exchange) {
  return {.data = values.data,
          .element_bytes = sizeof(float),
          .wire = exchange.wire,
          .tag = exchange.tag,
          .priority = exchange.priority,
          .scratch = exchange.scratch};
}

/// Of reduce-scatter and all-gather alone: as few bytes as the ring in fewer rounds.
Algorithm half_of(const Exchange& exchange) {
  return exchange.algorithm == Algorithm::automatic ? Algorithm::halving_doubling
                                                    : exchange.algorithm;
}

void check_native(const world::World& world, const Group& group, const Exchange& exchange) {
  if (!world.has_all_reduce()) {
    fail_request(
        "this world has no all-reduce of its own, which mpi asks for: choose auto, ring, "
        "halving-doubling, doubling, tree or hierarchical, or run under mpirun");
  }
  if (exchange.wire != Wire::f32) {
    fail_request("MPI's own all-reduce sends f32, not {}: choose another all-reduce for it",
                 to_string(exchange.wire));
  }
  if (group.size() != world.size()) {
    fail_request("MPI's own all-reduce is for all {} ranks, not for {}: choose another one",
                 world.size(), group.size());
  }
}

/// Each slice is an all-reduce of its own.
Floats slice(Floats values, int slices, int index) {
  const Range range = chunk_of(values.count, slices, index);
  return {values.data == nullptr ? nullptr : values.data + range.first, range.count};
}

}  // namespace

Algorithm algorithm_of(const Exchange& exchange, const Group& group, size_t elements) {
  if (exchange.algorithm != Algorithm::automatic) return exchange.algorithm;
  return choose(group.size(), group.hosts(), elements * bytes_of(exchange.wire), exchange.link,
                exchange.within);
}

int slices_of(const Exchange& exchange, const Group& group, size_t elements) {
  if (exchange.slices > kMaxSlices) {
    fail_request("an all-reduce in {} slices: at most {} cross beside each other", exchange.slices,
                 kMaxSlices);
  }
  if (exchange.slices > 0) return exchange.slices;
  const size_t message =
      elements * bytes_of(exchange.wire) / static_cast<size_t>(std::max(1, group.size()));
  return message >= kSliceBytes ? 2 : 1;
}

Cost cost_of(const Exchange& exchange, int member, const Group& group, size_t elements) {
  const Algorithm algorithm = algorithm_of(exchange, group, elements);
  const int slices = slices_of(exchange, group, elements);
  Cost cost;
  for (int s = 0; s < slices; ++s) {
    cost += cost_all_reduce(algorithm, member, group, chunk_of(elements, slices, s).count,
                            bytes_of(exchange.wire));
  }
  return cost;
}

world::Task<> all_reduce(world::World& world, const Group& group, Floats values,
                         Exchange exchange) {
  const int member = member_of(world, group);
  const Algorithm algorithm = algorithm_of(exchange, group, values.count);
  if (algorithm == Algorithm::native) {
    check_native(world, group, exchange);
    co_await world.all_reduce(values.data, values.count);
    co_return;
  }
  const int slices = slices_of(exchange, group, values.count);
  if (slices == 1) {
    co_await run_plan(world, group, plan_all_reduce(algorithm, member, group, values.count),
                      cargo_of(values, exchange));
    co_return;
  }
  std::vector<world::Started> running;
  for (int s = 0; s < slices; ++s) {
    const Floats part = slice(values, slices, s);
    Cargo cargo = cargo_of(part, exchange);
    cargo.tag.part = static_cast<uint8_t>(exchange.tag.part + s);
    running.emplace_back(
        world,
        run_plan(world, group, plan_all_reduce(algorithm, member, group, part.count), cargo));
  }
  co_await world::join_all(world, running);
}

world::Task<> reduce_scatter(world::World& world, const Group& group, Floats values,
                             Exchange exchange) {
  const int member = member_of(world, group);
  return run_plan(world, group, plan_reduce_scatter(half_of(exchange), member, group, values.count),
                  cargo_of(values, exchange));
}

world::Task<> all_gather(world::World& world, const Group& group, Floats values,
                         Exchange exchange) {
  const int member = member_of(world, group);
  const Range mine = chunk_of(values.count, group.size(), member);
  if (exchange.wire == Wire::bf16 && values.data != nullptr && group.size() > 1) {
    round_as_bf16(values.data + mine.first, mine.count);
  }
  co_await run_plan(world, group, plan_all_gather(half_of(exchange), member, group, values.count),
                    cargo_of(values, exchange));
}

world::Task<> reduce(world::World& world, const Group& group, Floats values, int root,
                     Exchange exchange) {
  const int member = member_of(world, group);
  return run_plan(world, group, plan_reduce(member, group.size(), root, values.count),
                  cargo_of(values, exchange));
}

world::Task<> broadcast(world::World& world, const Group& group, void* data, size_t bytes, int root,
                        world::Tag tag, int priority) {
  const bool chain = bytes >= kChainBytes && group.size() > 2;
  const int pieces = chain ? static_cast<int>((bytes + kPieceBytes - 1) / kPieceBytes) : 1;
  Plan plan = plan_broadcast(chain ? Algorithm::ring : Algorithm::tree, member_of(world, group),
                             group.size(), root, bytes, pieces);
  return run_plan(world, group, std::move(plan), {.data = data, .tag = tag, .priority = priority});
}

world::Task<> gather(world::World& world, const Group& group, const void* mine, void* all,
                     std::vector<size_t> sizes, int root, world::Tag tag, int priority) {
  SYRTOS_CHECK(sizes.size() == group.members.size(), "{} sizes", sizes.size());
  const int member = member_of(world, group);
  // Members send and never write: their memory stays what it was.
  void* data = const_cast<void*>(mine);
  if (member == root) {
    data = all;
    size_t first = 0;
    for (int before = 0; before < root; ++before) first += sizes[static_cast<size_t>(before)];
    const size_t bytes = sizes[static_cast<size_t>(root)];
    if (all != nullptr && bytes > 0) std::memcpy(static_cast<std::byte*>(all) + first, mine, bytes);
  }
  const Cargo cargo{.data = data, .tag = tag, .priority = priority};
  co_await run_plan(world, group, plan_gather(member, root, sizes), cargo);
}

world::Task<> barrier(world::World& world, const Group& group, world::Tag tag) {
  return run_plan(world, group, plan_barrier(member_of(world, group), group.size()), {.tag = tag});
}

}  // namespace syrtos::collective
