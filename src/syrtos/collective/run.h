#pragma once

#include "syrtos/collective/bf16.h"
#include "syrtos/collective/plan.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::collective {

/// The memory of a plan's elements and how they travel. Without data, sizes alone do.
struct Cargo {
  void* data = nullptr;
  size_t element_bytes = 1;  ///< in memory; 4 where the plan reduces
  Wire wire = Wire::f32;     ///< bf16: two bytes of each element's four
  world::Tag tag;
  int priority = 0;
  Scratch* scratch = nullptr;
};

/// Does what the plan says. The group outlives the task.
world::Task<> run_plan(world::World& world, const Group& group, Plan plan, Cargo cargo);

}  // namespace syrtos::collective
