#include "syrtos/strategy/servers/own_server.h"

namespace syrtos::strategy {

using world::Started;

/// What ends first: what the worker does, or, by a failure, its server.
struct OwnServer::Race {
  world::Event over;
  std::exception_ptr error;
};

Task<> OwnServer::run(Race& race, Task<> task) {
  try {
    co_await task;
  } catch (...) {
    race.error = std::current_exception();
  }
  race.over.set();
}

Task<> OwnServer::watch(Race& race, Started& server) {
  try {
    co_await server.join();
  } catch (...) {
    race.error = std::current_exception();
    race.over.set();
  }
}

Task<> OwnServer::beside(Task<> task) {
  Race race{world::Event(world_), {}};
  const Started server(world_, watch(race, serving_));
  const Started working(world_, run(race, std::move(task)));
  co_await race.over.wait();
  if (race.error) std::rethrow_exception(race.error);
}

Task<> OwnServer::end() { co_await serving_.join(); }

}  // namespace syrtos::strategy
