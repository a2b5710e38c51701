#pragma once

#include <exception>
#include <functional>
#include <vector>

#include "syrtos/world/task.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

/// What each rank runs. The world outlives the task.
using RankProgram = std::function<Task<>(World&)>;

/// Several ranks in this process.
class Cluster {
 public:
  virtual ~Cluster() = default;
  virtual int size() const = 0;
  /// Runs the program on every rank until all have ended, and returns what each threw: nullptr
  /// for those that came to their end. A rank that throws is lost to the others, as a process that
  /// dies.
  virtual std::vector<std::exception_ptr> run(const RankProgram& program) = 0;
};

/// Runs the program and throws what the rank that failed first threw.
void run_all(Cluster& cluster, const RankProgram& program);

}  // namespace syrtos::world
