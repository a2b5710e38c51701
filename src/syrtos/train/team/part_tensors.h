#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "syrtos/strategy/team.h"
#include "syrtos/train/checkpoint/spool.h"
#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::train {

/// Between worker 0, who reads and writes the run's files, and the workers of its replica, who have
/// the other parts of the network. One tensor at a time, so that nobody needs memory for more: it
/// is asked for before it is sent, for what is sent unasked lies in its receiver's memory.
class PartTensors {
 public:
  /// The world outlives it, as the parameters that the tensors are.
  PartTensors(world::World& world, const strategy::Team& team, RunTensors own)
      : world_(world), team_(team), own_(std::move(own)) {}

  /// The others get what `source` has for them (worker 0's; nullptr: nothing).
  world::Task<> hand_out(TensorSource* source);
  /// Worker 0's spool gets what the others have.
  world::Task<> collect(Spool& spool, const std::filesystem::path& directory);

 private:
  bool takes_part() const { return team_.parts > 1 && team_.replica_of(world_.rank()) == 0; }
  bool is_first() const { return world_.rank() == 0; }
  world::Task<> give(world::Rank to, TensorSource* source);
  world::Task<> get();
  world::Task<> fetch(world::Rank from, Spool& spool);
  world::Task<> ask(world::Rank whom);
  world::Task<> wait_until_asked(world::Rank by);
  world::Task<> send(world::Rank to, const Tensor& tensor);
  world::Task<> receive(world::Rank from, Tensor& tensor);

  world::World& world_;
  const strategy::Team team_;
  RunTensors own_;
  std::vector<std::vector<NamedShape>> of_parts_;  // worker 0's
};

}  // namespace syrtos::train
