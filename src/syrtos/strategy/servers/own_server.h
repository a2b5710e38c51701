#pragma once

#include "syrtos/strategy/servers/server.h"

namespace syrtos::strategy {

/// The server in a worker that serves. Without it the worker would wait for its own answers in
/// vain, so whatever the worker awaits is awaited beside it.
class OwnServer {
 public:
  OwnServer(World& world, const Team& team, const Options& options,
            const optim::OptimizerOptions& optimizer, const Layout& layout)
      : world_(world), server_(world, team, options, optimizer, layout) {}

  void begin() { serving_ = world::Started(world_, server_.serve()); }
  /// What the worker does; throws at once what the server throws meanwhile.
  Task<> beside(Task<> task);
  /// Waits until the server has ended.
  Task<> end();

 private:
  struct Race;
  static Task<> run(Race& race, Task<> task);
  static Task<> watch(Race& race, world::Started& server);

  World& world_;
  Server server_;
  world::Started serving_;
};

}  // namespace syrtos::strategy
