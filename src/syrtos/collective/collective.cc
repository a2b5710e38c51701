#include "syrtos/collective/collective.h"

#include <algorithm>
#include <cstring>

#include "syrtos/collective/bf16.h"

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

size_t bytes_on_wire(const ReduceOptions& options, Element element) {
  return options.as_bf16 ? world::bytes_of(Element::bf16) : world::bytes_of(element);
}

Cargo cargo_of(const Values& values, const ReduceOptions& options) {
  SYRTOS_CHECK(!options.as_bf16 || values.element == Element::f32, "{} as bf16",
               world::to_string(values.element));
  return {.data = values.data,
          .element_bytes = world::bytes_of(values.element),
          .as_bf16 = options.as_bf16,
          .reduce = world::Landing::reduce(values.element, options.reduction),
          .tag = options.tag,
          .priority = options.priority};
}

/// Reduce-scatter and all-gather alone send as few bytes this way as by ring, in fewer rounds.
Algorithm half_of(const ReduceOptions& options) {
  return options.algorithm == Algorithm::automatic ? Algorithm::halving_doubling
                                                   : options.algorithm;
}

void check_native(const world::World& world, const Group& group, const Values& values,
                  const ReduceOptions& options) {
  if (!world.has_all_reduce()) {
    fail_request(
        "this world has no all-reduce of its own, which mpi asks for: choose auto, ring, "
        "halving-doubling, doubling, tree or hierarchical, or run under mpirun");
  }
  if (options.as_bf16 || values.element == Element::bf16) {
    fail_request("MPI's own all-reduce does not send bf16: choose another all-reduce for it");
  }
  if (group.size() != world.size()) {
    fail_request("MPI's own all-reduce is for all {} ranks, not for {}: choose another one",
                 world.size(), group.size());
  }
}

/// Each slice is an all-reduce of its own.
Values slice(const Values& values, int slices, int index) {
  const Range range = chunk_of(values.count, slices, index);
  auto* data = static_cast<std::byte*>(values.data);
  if (data != nullptr) data += range.first * world::bytes_of(values.element);
  return {data, range.count, values.element};
}

}  // namespace

int slices_for(size_t bytes, int members) {
  return bytes / static_cast<size_t>(std::max(1, members)) >= kSliceBytes ? 2 : 1;
}

Algorithm algorithm_of(const ReduceOptions& options, const Group& group, size_t elements,
                       Element element) {
  if (options.algorithm != Algorithm::automatic) return options.algorithm;
  return choose(group.size(), group.hosts(), elements * bytes_on_wire(options, element),
                options.link, options.within);
}

int slices_of(const ReduceOptions& options, const Group& group, size_t elements, Element element) {
  if (options.slices > kMaxSlices) {
    fail_request("an all-reduce in {} slices: at most {} cross beside each other", options.slices,
                 kMaxSlices);
  }
  if (options.slices > 0) return options.slices;
  return slices_for(elements * bytes_on_wire(options, element), group.size());
}

Cost cost_of(const ReduceOptions& options, int member, const Group& group, size_t elements,
             Element element) {
  const Algorithm algorithm = algorithm_of(options, group, elements, element);
  const int slices = slices_of(options, group, elements, element);
  Cost cost;
  for (int s = 0; s < slices; ++s) {
    cost += cost_all_reduce(algorithm, member, group, chunk_of(elements, slices, s).count,
                            bytes_on_wire(options, element));
  }
  return cost;
}

PreparedAllReduce::PreparedAllReduce(world::World& world, const Group& group, const Values& values,
                                     const ReduceOptions& options)
    : world_(world),
      values_(values),
      reduction_(options.reduction),
      native_(algorithm_of(options, group, values.count, values.element) == Algorithm::native),
      runner_(world, group) {
  if (native_) {
    check_native(world, group, values, options);
    return;
  }
  const int member = member_of(world, group);
  const Algorithm algorithm = algorithm_of(options, group, values.count, values.element);
  const int slices = slices_of(options, group, values.count, values.element);
  for (int s = 0; s < slices; ++s) {
    const Values part = slice(values, slices, s);
    Cargo cargo = cargo_of(part, options);
    cargo.tag.part = static_cast<uint8_t>(options.tag.part + s);
    runner_.add(all_reduce_rounds(algorithm, member, group, part.count), cargo);
  }
}

world::Task<> PreparedAllReduce::run_native() {
  co_await world_.all_reduce(values_.data, values_.count, values_.element, reduction_);
}

world::Task<> all_reduce(world::World& world, const Group& group, Values values,
                         ReduceOptions options) {
  PreparedAllReduce once(world, group, values, options);
  co_await once.run(options.tag.round);
}

world::Task<> reduce_scatter(world::World& world, const Group& group, Values values,
                             ReduceOptions options) {
  const int member = member_of(world, group);
  return run_rounds(world, group,
                    reduce_scatter_rounds(half_of(options), member, group, values.count),
                    cargo_of(values, options));
}

world::Task<> all_gather(world::World& world, const Group& group, Values values,
                         ReduceOptions options) {
  const int member = member_of(world, group);
  const Range mine = chunk_of(values.count, group.size(), member);
  if (options.as_bf16 && values.data != nullptr && group.size() > 1) {
    round_as_bf16(static_cast<float*>(values.data) + mine.first, mine.count);
  }
  co_await run_rounds(world, group,
                      all_gather_rounds(half_of(options), member, group, values.count),
                      cargo_of(values, options));
}

world::Task<> reduce(world::World& world, const Group& group, Values values, int root,
                     ReduceOptions options) {
  const int member = member_of(world, group);
  return run_rounds(world, group, reduce_rounds(member, group.size(), root, values.count),
                    cargo_of(values, options));
}

world::Task<> broadcast(world::World& world, const Group& group, void* data, size_t bytes, int root,
                        world::Tag tag, int priority) {
  const bool chain = bytes >= kChainBytes && group.size() > 2;
  const int pieces = chain ? static_cast<int>((bytes + kPieceBytes - 1) / kPieceBytes) : 1;
  Rounds rounds = broadcast_rounds(chain ? Algorithm::ring : Algorithm::tree,
                                   member_of(world, group), group.size(), root, bytes, pieces);
  return run_rounds(world, group, std::move(rounds),
                    {.data = data, .tag = tag, .priority = priority});
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
  co_await run_rounds(world, group, gather_rounds(member, root, sizes), cargo);
}

world::Task<> barrier(world::World& world, const Group& group, world::Tag tag) {
  return run_rounds(world, group, barrier_rounds(member_of(world, group), group.size()),
                    {.tag = tag});
}

}  // namespace syrtos::collective
