#include "syrtos/strategy/servers/server.h"

#include "syrtos/base/error.h"
#include "syrtos/strategy/servers/commands.h"
#include "syrtos/strategy/text.h"

namespace syrtos::strategy {

using world::Source;
using world::Target;

Server::Server(World& world, const Team& team, const Options& options,
               const optim::OptimizerOptions& optimizer, const Layout& layout,
               ServerObserver* observer)
    : world_(world),
      team_(team),
      options_(options),
      observer_(observer),
      parameters_(world, team, options, optimizer, layout),
      transfers_(world, options, observer),
      policy_(make_policy({world, team_, options_, parameters_, transfers_, observer, report_})),
      finished_(world) {}

Task<> Server::serve() {
  co_await parameters_.receive_all();
  for (ServedPiece& piece : parameters_.pieces()) {
    for (Rank worker = 0; worker < team_.workers; ++worker) {
      tasks_.emplace_back(world_, guard(policy_->talk(worker, piece)));
    }
  }
  tasks_.emplace_back(world_, guard(follow_commands()));
  co_await finished_.wait();
  if (error_) std::rethrow_exception(error_);
}

/// The first failure ends the server.
Task<> Server::guard(Task<> task) {
  try {
    co_await task;
  } catch (...) {
    if (!error_) error_ = std::current_exception();
    finished_.set();
  }
}

Task<> Server::follow_commands() {
  for (uint32_t number = 0;; ++number) {
    Command command{};
    co_await receive_patiently(world_, 0, command_tag(number), Target{&command, sizeof(command)});
    if (command == Command::collect) {
      const Observed saves(observer_, Part::checkpoint);
      co_await parameters_.send_kept();
    } else if (command == Command::stop) {
      co_await world_.send(0, report_tag(), Source{&report_, sizeof(report_)});
      break;
    } else {
      SYRTOS_CHECK(observer_ != nullptr, "nobody has measured this server");
      co_await observer_->tell(command);
    }
  }
  finished_.set();
}

Task<> serve(World& world, Team team, Options options, optim::OptimizerOptions optimizer,
             ServerObserver* observer) {
  const Layout layout = co_await receive_layout(world);
  Server server(world, team, options, optimizer, layout, observer);
  co_await server.serve();
}

}  // namespace syrtos::strategy
