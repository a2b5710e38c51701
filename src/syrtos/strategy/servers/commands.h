#pragma once

#include "syrtos/strategy/strategy.h"

namespace syrtos::strategy {

/// What rank 0 tells the servers, and they no other worker: where everything lies and what it
/// begins with, to send what the optimiser keeps, to tell what they measured, to stop.
class ServerCommands {
 public:
  ServerCommands(World& world, const Team& team, const Options& options, Replica& replica);

  /// Sends the layout to servers of their own, and to all servers their parts of the weights and,
  /// where they update, of what the optimiser keeps.
  Task<> begin();
  /// Brings what the optimiser keeps from the servers into the replica.
  Task<> collect();
  /// Servers of their own are to tell something, each to its ServerObserver.
  Task<> ask(Command what);
  /// Ends all servers. Adds up what they report.
  Task<Report> stop();

 private:
  Task<> send(Command what, int servers);
  Rank server_of(const Piece& piece) const { return team_.server_rank(piece.server); }

  World& world_;
  const Team team_;
  const bool servers_update_;
  Replica& replica_;
  const std::vector<Piece> pieces_;
  uint32_t commands_ = 0;  // so far
};

/// A server's part of begin().
Task<Layout> receive_layout(World& world);

}  // namespace syrtos::strategy
