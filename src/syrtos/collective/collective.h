#pragma once

#include <cstddef>
#include <vector>

#include "syrtos/collective/algorithm.h"
#include "syrtos/collective/group.h"
#include "syrtos/collective/predict.h"
#include "syrtos/collective/rounds.h"
#include "syrtos/collective/run.h"
#include "syrtos/world/element.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

// What ranks do together. All members of the group call the same function with the same sizes, tag
// and options, each with its own memory, and wait for it. A collective is a task like others:
// several run beside each other if their tags differ in purpose or item, and destroying one
// abandons it. Members that do not agree find out by world::Mismatch, by PeerLost or by the
// deadline.
//
// The group and the values outlive the task. A root is an index into the group.

namespace syrtos::collective {

using world::Element;
using world::Reduction;

/// Null data where the world carries sizes only.
struct Floats {
  float* data = nullptr;
  size_t count = 0;
};

/// Numbers of any kind; null data where the world carries sizes only.
struct Values {
  // NOLINTNEXTLINE(google-explicit-constructor): floats are numbers.
  Values(const Floats& floats) : data(floats.data), count(floats.count) {}
  Values(float* the_data, size_t the_count) : data(the_data), count(the_count) {}
  Values(void* the_data, size_t the_count, Element the_element)
      : data(the_data), count(the_count), element(the_element) {}

  void* data;
  size_t count;
  Element element = Element::f32;
};

struct ReduceOptions {
  Algorithm algorithm = Algorithm::automatic;
  Reduction reduction = Reduction::sum;
  /// Values that are f32 travel as bf16; they are still reduced in f32.
  bool as_bf16 = false;
  /// item: the bucket, round: the step. Slices use the parts from tag.part on.
  world::Tag tag{.purpose = world::Purpose::all_reduce};
  int priority = 0;
  /// Parts of a large buffer that cross beside each other, so that one's bytes are on the wire
  /// while another waits for its next round. 0: chosen by size.
  int slices = 0;
  /// What automatic reckons with; the same on all members.
  LinkSpeed link = kEthernet;
  LinkSpeed within = kMemory;
};

constexpr int kMaxSlices = 16;

/// The number of slices for so many bytes, where it is not given.
int slices_for(size_t bytes, int members);

/// What automatic and 0 stand for.
Algorithm algorithm_of(const ReduceOptions& options, const Group& group, size_t elements,
                       Element element = Element::f32);
int slices_of(const ReduceOptions& options, const Group& group, size_t elements,
              Element element = Element::f32);
/// The cost of an all_reduce with these options.
Cost cost_of(const ReduceOptions& options, int member, const Group& group, size_t elements,
             Element element = Element::f32);

/// An all-reduce over the same memory again and again: what to do is worked out once, and a run
/// allocates nothing. Group and values outlive it.
class PreparedAllReduce {
 public:
  /// Throws RequestError when the world or the element type does not have the algorithm.
  PreparedAllReduce(world::World& world, const Group& group, const Values& values,
                    const ReduceOptions& options);

  /// `round` takes the place of the tag's. One at a time; this outlives the task.
  world::Task<> run(uint32_t round) { return native_ ? run_native() : runner_.run(round); }

 private:
  world::Task<> run_native();

  world::World& world_;
  const Values values_;
  const Reduction reduction_;
  const bool native_;
  Runner runner_;
};

/// The sum, the smallest or the largest of all members' values, the same bits on every member.
/// Native ones have no lanes: all ranks start them in the same order.
world::Task<> all_reduce(world::World& world, const Group& group, Values values,
                         ReduceOptions options);
/// Each member gets the result for its chunk_of; the rest of its values is not defined afterwards.
world::Task<> reduce_scatter(world::World& world, const Group& group, Values values,
                             ReduceOptions options);
/// Each member's chunk_of goes to all. As bf16 it is rounded, also where it comes from.
world::Task<> all_gather(world::World& world, const Group& group, Values values,
                         ReduceOptions options);
/// The result at the root; the others' values are not defined afterwards.
world::Task<> reduce(world::World& world, const Group& group, Values values, int root,
                     ReduceOptions options);

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
