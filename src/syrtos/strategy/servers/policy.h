#pragma once

#include <memory>

#include "syrtos/strategy/servers/transfers.h"

namespace syrtos::strategy {

/// What every policy works with. Outlives it.
struct ServerTools {
  World& world;
  const Team& team;
  const Options& options;
  ServedParameters& parameters;
  ServerTransfers& transfers;
  ServerObserver* observer;  ///< nullptr: nobody measures
  Report& report;
};

/// What a server does with gradients: when it updates the weights, and whom it lets wait. One
/// object for all pieces of a server; all its coroutines are on the world's thread.
class ServerPolicy {
 public:
  explicit ServerPolicy(const ServerTools& tools) : tools_(tools) {}
  virtual ~ServerPolicy() = default;

  /// Talks with one worker about one piece, round after round, until it is cancelled. Throws when
  /// somebody is lost that cannot be spared.
  virtual Task<> talk(Rank worker, ServedPiece& piece) = 0;

 protected:
  const ServerTools tools_;
};

/// The policy of --sync: SumOfAll (join, split), UpdateOnArrival (async, ssp) or FirstGradients
/// (backup).
std::unique_ptr<ServerPolicy> make_policy(const ServerTools& tools);

}  // namespace syrtos::strategy
