#include "syrtos/world/sim/sim.h"

#include <deque>

#include "syrtos/world/sim/sim_world.h"
#include "syrtos/world/sim/simulation.h"
#include "syrtos/world/started.h"

namespace syrtos::world {

struct SimCluster::Member {
  Started task;
  bool over = false;
  std::exception_ptr error;
};

struct SimCluster::Crashing final : SimEvent {
  Crashing(SimCluster& the_cluster, Rank the_rank) : cluster(the_cluster), rank(the_rank) {}
  void fire() override { cluster.lose(rank); }
  SimCluster& cluster;
  const Rank rank;
};

SimCluster::SimCluster(SimOptions options)
    : simulation_(std::make_unique<Simulation>(std::move(options))) {
  const SimOptions& all = simulation_->options;
  std::vector<std::string> hosts;
  for (const int host : all.host_of_rank) hosts.push_back(simulation_->host(host).name);
  for (Rank rank = 0; rank < static_cast<Rank>(hosts.size()); ++rank) {
    owned_.push_back(std::make_unique<SimWorld>(*simulation_, worlds_, rank, hosts));
    worlds_.push_back(owned_.back().get());
  }
}

SimCluster::~SimCluster() = default;

double SimCluster::now() const { return simulation_->now; }

World& SimCluster::world(Rank rank) { return *worlds_[static_cast<size_t>(rank)]; }

/// What a rank runs. Its error is taken here, its end is seen to when its coroutine has gone.
Task<> SimCluster::lead(SimCluster& cluster, Rank rank, const RankProgram& program) {
  try {
    Task<> task = program(cluster.world(rank));
    co_await task;
  } catch (...) {
    cluster.members_[static_cast<size_t>(rank)].error = std::current_exception();
  }
  cluster.ended_.push_back(rank);
}

std::vector<std::exception_ptr> SimCluster::run(const RankProgram& program) {
  simulation_->events_of_run = simulation_->events_at_once = 0;
  simulation_->partitions.start();
  std::deque<Crashing> crashes;
  for (const SimFaults::Crash& crash : simulation_->options.faults.crashes) {
    if (crash.at < now()) continue;
    simulation_->events.start(crashes.emplace_back(*this, crash.rank), crash.at);
  }
  members_.clear();
  members_.resize(worlds_.size());
  running_ = size();
  for (Rank rank = 0; rank < size(); ++rank) {
    members_[static_cast<size_t>(rank)].task = Started(world(rank), lead(*this, rank, program));
  }
  while (running_ > 0 && step()) continue;
  std::vector<std::exception_ptr> errors;
  for (Member& member : members_) errors.push_back(member.error);
  members_.clear();
  ended_.clear();
  simulation_->clear();
  for (SimWorld* world : worlds_) world->clear();
  return errors;
}

/// Everybody goes on as far as they can; then the next thing happens. False: the run is given up.
bool SimCluster::step() {
  Simulation& all = *simulation_;
  WaitList& ready = all.agenda.ready;
  while (!ready.empty() && all.count()) ready.pop().resume();
  if (take_ended()) return true;
  if (!all.count()) {
    give_up(all.events_of_run > all.options.events_max
                ? fmt::format("more than {} events", all.options.events_max)
                : fmt::format("more than {} events while no time passes",
                              all.options.events_at_once_max));
    return false;
  }
  const double next = all.next();
  if (next > all.now && all.settle()) return true;
  if (!(next <= all.options.time_max)) {
    give_up(fmt::format("nothing more happens before {} s", all.options.time_max));
    return false;
  }
  all.advance();
  return true;
}

/// Ranks whose program came to its end are lost to the others.
bool SimCluster::take_ended() {
  if (ended_.empty()) return false;
  for (const Rank rank : std::exchange(ended_, {})) {
    Member& member = members_[static_cast<size_t>(rank)];
    if (member.over) continue;
    member.task.cancel();
    end(rank, member.error ? "it failed" : "it has ended");
  }
  return true;
}

void SimCluster::end(Rank rank, std::string_view why) {
  members_[static_cast<size_t>(rank)].over = true;
  --running_;
  simulation_->note(Simulation::Note::ended, rank, 0);
  worlds_[static_cast<size_t>(rank)]->end(why);
}

void SimCluster::lose(Rank rank) {
  Member& member = members_[static_cast<size_t>(rank)];
  if (member.over) return;
  member.task.cancel();
  member.error = std::make_exception_ptr(
      PeerLost(rank, fmt::format("{} crashed at {} s", world(rank).name(rank), now())));
  end(rank, "it crashed");
}

void SimCluster::give_up(std::string_view why) {
  for (Rank rank = 0; rank < size(); ++rank) {
    Member& member = members_[static_cast<size_t>(rank)];
    if (member.over) continue;
    member.task.cancel();
    member.error = std::make_exception_ptr(
        RunError(fmt::format("{} was stopped at {} virtual s: {}; does its program ever end?",
                             world(rank).name(rank), now(), why)));
    end(rank, "it was stopped");
  }
}

SimStatistics SimCluster::statistics() const {
  Simulation& all = *simulation_;
  SimStatistics result{.hosts = {}, .switches = {}, .events = all.all_events, .trace = all.trace};
  for (int host = 0; host < static_cast<int>(all.options.hosts.size()); ++host) {
    result.hosts.push_back({.bytes_out = all.network.used(all.up(host)),
                            .bytes_in = all.network.used(all.down(host)),
                            .computing_seconds = all.processor(host).busy_seconds(),
                            .moving_core_seconds = all.network.used(all.processor(host).link())});
  }
  for (size_t i = 0; i < all.options.switches.size(); ++i) {
    result.switches.push_back({.bytes_up = all.network.used(all.switch_up(i)),
                               .bytes_down = all.network.used(all.switch_down(i))});
  }
  return result;
}

}  // namespace syrtos::world
