#pragma once

#include <memory>
#include <vector>

#include "syrtos/strategy/servers/policy.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// A parameter server: keeps some pieces of the parameters and talks with each worker about each
/// piece in a coroutine of its own. What it does with gradients is its policy's
/// (policy.h); what is said, and how it travels, is the same for all.
///
///   receive the weights, and what the optimiser keeps, from rank 0
///   for each piece and worker, beside each other: policy.talk(worker, piece)
///   beside them, until rank 0 says stop: do what rank 0 commands
///
/// Messages and bytes of a step and worker: each piece once in each direction, so that all workers
/// move 2 N times the parameters through the servers; with K servers 2 N / K through each.
class Server {
 public:
  /// Which server it is, and what it keeps, follows from its rank. `observer`: nullptr in a worker
  /// that serves.
  Server(World& world, const Team& team, const Options& options,
         const optim::OptimizerOptions& optimizer, const Layout& layout,
         ServerObserver* observer = nullptr);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Serves until rank 0 says stop; throws when a rank is lost that cannot be spared.
  Task<> serve();

 private:
  Task<> follow_commands();
  Task<> guard(Task<> task);

  World& world_;
  const Team team_;
  const Options options_;
  ServerObserver* const observer_;
  ServedParameters parameters_;
  ServerTransfers transfers_;
  Report report_;
  const std::unique_ptr<ServerPolicy> policy_;
  world::Event finished_;
  std::exception_ptr error_;
  std::vector<world::Started> tasks_;  // end before what they use
};

/// A rank that is nothing but a server: learns the layout from rank 0 and serves.
Task<> serve(World& world, Team team, Options options, optim::OptimizerOptions optimizer,
             ServerObserver* observer = nullptr);

}  // namespace syrtos::strategy
