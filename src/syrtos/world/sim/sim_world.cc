#include "syrtos/world/sim/sim_world.h"

#include <algorithm>

namespace syrtos::world {

SimWorld::SimWorld(Simulation& simulation, std::vector<SimWorld*>& worlds, Rank rank,
                   std::vector<std::string> hosts)
    : World(rank, std::move(hosts), simulation.agenda),
      simulation_(simulation),
      worlds_(worlds),
      host_(simulation.options.host_of_rank[static_cast<size_t>(rank)]),
      processor_(simulation.processor(host_)) {}

bool SimWorld::is_lost(Rank rank) const {
  const SimWorld& other = *worlds_[static_cast<size_t>(rank)];
  if (simulation_.partitions.severed(host_, other.host_)) return true;
  return other.ended() && simulation_.partitions.passes(host_, other.host_, other.ended_at_) +
                                  simulation_.latency(other.host_, host_) <=
                              simulation_.now;
}

std::exception_ptr SimWorld::lost(const Message& message) const {
  const SimWorld& other = *worlds_[static_cast<size_t>(message.peer)];
  const bool severed = simulation_.partitions.severed(host_, other.host_);
  return peer_lost(message, severed ? "the network between them is cut" : other.ended_);
}

void SimWorld::end(std::string_view why) {
  ended_ = why;
  ended_at_ = simulation_.now;
  for (WaitList* list : {&pool_, &to_start_, &to_finish_}) {
    while (!list->empty()) list->pop();
  }
  for (Computing* work : {&in_pool_, &here_}) {
    processor_.stop(*work);
    if (work->compute != nullptr) abandon(*work->compute);
  }
  for (Channel* channel : out_.all) channel->check();
  for (Channel* channel : in_.all) channel->check();
}

void SimWorld::clear() {
  ended_.clear();
  out_ = {};
  in_ = {};
}

Channel& SimWorld::channel(Channels& channels, Rank peer, bool outwards) {
  if (channels.latest_rank == peer) return *channels.latest;
  Channel*& found = channels.of_rank[peer];
  if (found == nullptr) {
    SimWorld& other = *worlds_[static_cast<size_t>(peer)];
    found =
        outwards ? &simulation_.add_channel(*this, other) : &simulation_.add_channel(other, *this);
    (outwards ? other.in_ : other.out_).of_rank[rank()] = found;
    (outwards ? other.in_ : other.out_).all.push_back(found);
    channels.all.push_back(found);
  }
  channels.latest_rank = peer;
  channels.latest = found;
  return *found;
}

void SimWorld::start_send(Message& message) {
  if (!hold(message)) channel(out_, message.peer, true).send(message);
}

void SimWorld::start_recv(Message& message) {
  if (!hold(message)) channel(in_, message.peer, false).recv(message);
}

void SimWorld::start_compute(Compute& compute) {
  if (hold(compute)) return;
  if (compute.where == Where::here) {
    return begin(here_, compute, std::min(1.0, simulation_.host(host_).cores));
  }
  pool_.push(compute);
  next_of_pool();
}

/// Operations of a rank that has ended, or of a run that must end, wait for ever: that is, until
/// they are destroyed.
bool SimWorld::hold(Operation& operation) {
  if (!simulation_.count() || ended()) return true;
  if (!here_.active()) return false;
  to_start_.push(operation);
  return true;
}

/// The work here is done.
void SimWorld::let_go() {
  while (!to_finish_.empty()) static_cast<Operation&>(to_finish_.pop()).finish();
  while (!to_start_.empty() && !here_.active()) {
    auto& operation = static_cast<Operation&>(to_start_.pop());
    if (auto* compute = dynamic_cast<Compute*>(&operation)) {
      start_compute(*compute);
    } else if (auto& message = static_cast<Message&>(operation);
               message.direction == Message::Direction::send) {
      start_send(message);
    } else {
      start_recv(message);
    }
  }
}

void SimWorld::complete(Operation& operation) {
  if (!here_.active()) return operation.finish();
  operation.stop();
  to_finish_.push(operation);
}

void SimWorld::fail(Operation& operation, std::exception_ptr error) {
  operation.set_error(std::move(error));
  complete(operation);
}

void SimWorld::begin(Computing& work, Compute& compute, double cores) {
  const SimHost& host = simulation_.host(host_);
  const double slowness = simulation_.chance.slowness(rank(), works_++, host.jitter);
  work.compute = &compute;
  compute.state = &work;
  processor_.start(work, std::max(0.0, compute.seconds) / host.speed * slowness, cores);
}

void SimWorld::next_of_pool() {
  if (in_pool_.active() || pool_.empty()) return;
  begin(in_pool_, static_cast<Compute&>(pool_.pop()), simulation_.host(host_).compute_cores);
}

void SimWorld::worked(Computing& work) {
  simulation_.note(Simulation::Note::computed, rank(), works_);
  if (Compute* compute = std::exchange(work.compute, nullptr)) {
    compute->state = nullptr;
    const std::exception_ptr error = run(*compute);
    if (error) compute->set_error(error);
    complete(*compute);
  }
  if (&work == &here_) let_go();
  next_of_pool();
}

std::exception_ptr SimWorld::run(const Compute& compute) const {
  if (!carries_data() || !compute.work) return nullptr;
  try {
    compute.work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

void SimWorld::abandon(Message& message) {
  message.unlink();
  if (message.state != nullptr) static_cast<Parcel*>(message.state)->channel->abandon(message);
}

void SimWorld::abandon(Compute& compute) {
  compute.unlink();
  if (compute.state == nullptr) return;
  static_cast<Computing*>(compute.state)->compute = nullptr;
  compute.state = nullptr;
}

void SimWorld::moves(int change) {
  if (simulation_.host(host_).core_seconds_per_byte == 0) return;
  const bool moved = flows_ > 0;
  flows_ += change;
  if (moved != (flows_ > 0)) processor_.moving(change);
}

void SimWorld::count_sent(size_t bytes) {
  count().messages_sent += 1;
  count().bytes_sent += bytes;
}

void SimWorld::count_received(size_t bytes) {
  count().messages_received += 1;
  count().bytes_received += bytes;
}

}  // namespace syrtos::world
