#pragma once

#include <memory>
#include <vector>

#include "syrtos/strategy/servers/observer.h"
#include "syrtos/strategy/servers/parameters.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {

/// A server's half of what protocol.h says: headers, gradients and replies of one piece and one
/// worker at a time, with permits, and measured. With --permits K at most K gradients come in and K
/// pieces go out at a time; only workers that are ready to receive get a permit.
class ServerTransfers {
 public:
  ServerTransfers(World& world, const Options& options, ServerObserver* observer);

  /// What the worker wants in this round. Workers compute before they push, however long that is.
  Task<> receive_push(Rank worker, const ServedPiece& piece, uint32_t round, Push& push);
  /// The gradient after it, stored or added. `to`: nullptr without data.
  Task<> receive_gradient(Rank worker, const ServedPiece& piece, uint32_t round, const Push& push,
                          float* to, bool add);
  /// Weights, or averaged gradients, after their header.
  Task<> reply(Rank worker, const ServedPiece& piece, uint32_t round, Pull pull,
               world::Source values);

 private:
  World& world_;
  const Wire wire_;
  ServerObserver* const observer_;
  std::unique_ptr<world::Semaphore> in_;  // none: any number at a time
  std::unique_ptr<world::Semaphore> out_;
  int64_t step_ = 0;  // that the furthest worker has come to
};

}  // namespace syrtos::strategy
