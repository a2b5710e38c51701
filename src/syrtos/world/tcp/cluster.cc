#include "syrtos/world/tcp/cluster.h"

#include <string>
#include <thread>

#include "syrtos/base/host_name.h"
#include "syrtos/base/secret.h"

namespace syrtos::world {

std::vector<std::exception_ptr> TcpCluster::run(const RankProgram& program) {
  TcpOptions options = options_;
  options.token = random_token();
  options.members.clear();
  std::vector<Listener> listeners;
  for (int rank = 0; rank < ranks_; ++rank) {
    listeners.emplace_back("127.0.0.1");
    const std::string host = apart_ ? "host " + std::to_string(rank) : host_name();
    options.members.push_back({host, "127.0.0.1", listeners.back().port()});
  }
  std::vector<std::exception_ptr> errors(static_cast<size_t>(ranks_));
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < errors.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        TcpOptions mine = options;
        mine.rank = static_cast<Rank>(rank);
        TcpWorld world(std::move(mine), std::move(listeners[rank]));
        world.run(program);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace syrtos::world
