#pragma once

#include <cstddef>
#include <vector>

#include "syrtos/collective/algorithm.h"
#include "syrtos/collective/bf16.h"
#include "syrtos/collective/group.h"
#include "syrtos/collective/plan.h"
#include "syrtos/collective/predict.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

// What ranks do together. All members of the group call the same function with the same sizes, tag
// and options, each with its own memory, and wait for it. A collective is a task like others:
// several run beside each other if their tags differ in purpose or item, and destroying one
// abandons it. Members that do not agree find out by world::Mismatch, by PeerLost or by the
// deadline.
//
// The group, the values and the scratch outlive the task. A root is an index into the group.

namespace syrtos::collective {

/// Null data where the world carries sizes only.
struct Floats {
  float* data = nullptr;
  size_t count = 0;
};

struct Exchange {
  Algorithm algorithm = Algorithm::automatic;
  Wire wire = Wire::f32;
  /// item: the bucket, round: the step. Slices use the parts from tag.part on.
  world::Tag tag{.purpose = world::Purpose::all_reduce};
  int priority = 0;
  /// Parts of a large buffer that cross beside each other, so that one's bytes are on the wire
  /// while another waits for its next round. 0: chosen by size.
  int slices = 0;
  /// What automatic reckons with; the same on all members.
  LinkSpeed link = kEthernet;
  LinkSpeed within = kMemory;
  Scratch* scratch = nullptr;  ///< for what is copied; without one each call makes its own
};

constexpr int kMaxSlices = 16;

/// What automatic and 0 stand for.
Algorithm algorithm_of(const Exchange& exchange, const Group& group, size_t elements);
int slices_of(const Exchange& exchange, const Group& group, size_t elements);
/// Of an all_reduce with these options.
Cost cost_of(const Exchange& exchange, int member, const Group& group, size_t elements);

/// The sum, the same bits on every member. Native ones have no lanes: all ranks start them in the
/// same order.
world::Task<> all_reduce(world::World& world, const Group& group, Floats values, Exchange exchange);
/// Each member gets the sum of its chunk_of; the rest of its values is not defined afterwards.
world::Task<> reduce_scatter(world::World& world, const Group& group, Floats values,
                             Exchange exchange);
/// Each member's chunk_of goes to all. With bf16 it is rounded, also where it comes from.
world::Task<> all_gather(world::World& world, const Group& group, Floats values, Exchange exchange);
/// The sum at the root; the others' values are not defined afterwards.
world::Task<> reduce(world::World& world, const Group& group, Floats values, int root,
                     Exchange exchange);

/// The root's memory to all. All know the size.
world::Task<> broadcast(world::World& world, const Group& group, void* data, size_t bytes, int root,
                        world::Tag tag, int priority = 0);
/// Member m's sizes[m] bytes, to the root's `all`, where they follow each other. All know the
/// sizes; `all` is used at the root only.
world::Task<> gather(world::World& world, const Group& group, const void* mine, void* all,
                     std::vector<size_t> sizes, int root, world::Tag tag, int priority = 0);
/// Nobody goes on before all have come.
world::Task<> barrier(world::World& world, const Group& group, world::Tag tag);

}  // namespace syrtos::collective
