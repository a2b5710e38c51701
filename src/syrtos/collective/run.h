#pragma once

#include <cstdint>
#include <list>

#include "syrtos/collective/rounds.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::collective {

/// The memory of the elements and how they travel. Without data, sizes alone do.
struct Cargo {
  void* data = nullptr;
  size_t element_bytes = 1;                      ///< in memory
  bool as_bf16 = false;                          ///< f32 that travel as bf16
  world::Landing reduce = world::Landing::kAdd;  ///< what becomes of what is reduced
  world::Tag tag;
  int priority = 0;

  size_t bytes_on_wire() const { return as_bf16 ? sizeof(uint16_t) : element_bytes; }
};

/// Does what rounds say, over the same memory again and again. Its messages' and copies' memory is
/// made once, so a run allocates nothing. Several lists of rounds run beside each other.
class Runner {
 public:
  /// Both outlive it.
  Runner(world::World& world, const Group& group);
  ~Runner();
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  /// The tag's part differs from those of the others.
  void add(Rounds rounds, const Cargo& cargo);

  /// One run; ends when all rounds are done. `round` goes into the tags. One at a time; it outlives
  /// the task.
  world::Task<> run(uint32_t round);

 private:
  class Slice;
  class Run;

  world::World& world_;
  const Group& group_;
  std::list<Slice> slices_;
  bool running_ = false;
};

/// The same, once. The group outlives the task.
world::Task<> run_rounds(world::World& world, const Group& group, Rounds rounds, Cargo cargo);

}  // namespace syrtos::collective
