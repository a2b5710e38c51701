#include "syrtos/world/sim/simulation.h"

#include <bit>
#include <limits>

#include "syrtos/world/sim/sim_world.h"

namespace syrtos::world {

Simulation::Simulation(SimOptions the_options)
    : options(completed(std::move(the_options))),
      partitions(options.faults, options.hosts.size(), events, now, [this] {
        for (Channel& channel : channels_) channel.check();
      }) {
  for (const SimHost& host : options.hosts) {
    const int up = network.add_link(host.bandwidth);
    const int down = network.add_link(host.bandwidth);
    const int memory = network.add_link(host.memory_bandwidth);
    hosts_.push_back({up, down, memory});
    processors_.emplace_back(host, network, events, now);
    host_of_link_.resize(static_cast<size_t>(processors_.back().link()) + 1, -1);
    host_of_link_.back() = static_cast<int>(processors_.size()) - 1;
  }
  for (const SimSwitch& group : options.switches) {
    const int up = network.add_link(group.bandwidth);
    const int down = network.add_link(group.bandwidth);
    for (const int host : group.hosts) {
      hosts_[static_cast<size_t>(host)].group = static_cast<int>(switches_.size());
    }
    switches_.push_back({up, down});
  }
  host_of_link_.resize(host_of_link_.size() + 2 * switches_.size(), -1);
  if (options.backplane > 0) {
    backplane_ = network.add_link(options.backplane);
    host_of_link_.push_back(-1);
  }
}

double Simulation::latency(int from, int to) const {
  if (from == to) return host(from).memory_latency;
  double sum = (host(from).latency + host(to).latency) / 2;
  const int a = hosts_[static_cast<size_t>(from)].group;
  const int b = hosts_[static_cast<size_t>(to)].group;
  if (a == b) return sum;
  if (a >= 0) sum += options.switches[static_cast<size_t>(a)].latency;
  if (b >= 0) sum += options.switches[static_cast<size_t>(b)].latency;
  return sum;
}

void Simulation::route(Flow& flow, int from, int to) {
  const Host& a = hosts_[static_cast<size_t>(from)];
  const Host& b = hosts_[static_cast<size_t>(to)];
  const double cost = host(from).core_seconds_per_byte;
  if (from == to) {
    flow.pass(a.memory);
    if (cost > 0) flow.pass(processor(from).link(), 2 * cost);
    return;
  }
  flow.pass(a.up);
  flow.pass(b.down);
  if (backplane_ >= 0) flow.pass(backplane_);
  if (a.group != b.group) {
    if (a.group >= 0) flow.pass(switch_up(static_cast<size_t>(a.group)));
    if (b.group >= 0) flow.pass(switch_down(static_cast<size_t>(b.group)));
  }
  if (cost > 0) flow.pass(processor(from).link(), cost);
  const double other_cost = host(to).core_seconds_per_byte;
  if (other_cost > 0) flow.pass(processor(to).link(), other_cost);
}

Channel& Simulation::add_channel(SimWorld& from, SimWorld& to) {
  return channels_.emplace_back(*this, from, to);
}

Parcel& Simulation::new_parcel() {
  if (free_parcels_.empty()) return parcels_.emplace_back();
  Parcel& parcel = *free_parcels_.back();
  free_parcels_.pop_back();
  return parcel;
}

void Simulation::free_parcel(Parcel& parcel) {
  constexpr size_t kKeptBytes = 1 << 16;
  parcel.stop();
  parcel.send = nullptr;
  parcel.arrived = false;
  if (parcel.data.capacity() > kKeptBytes) parcel.data = {};
  free_parcels_.push_back(&parcel);
}

void Simulation::clear() {
  network.clear();
  channels_.clear();
  free_parcels_.clear();
  parcels_.clear();
}

double Simulation::next() const {
  double at = std::numeric_limits<double>::infinity();
  if (!events.empty()) at = events.first().at();
  if (!agenda.timers.empty()) at = std::min(at, agenda.timers.first().at());
  return at;
}

/// What happens comes before what should have happened by then.
void Simulation::advance() {
  const double at = next();
  if (at > now) {
    now = at;
    events_at_once = 0;
  }
  if (!events.empty() && events.first().at() <= now) {
    auto& event = static_cast<SimEvent&>(events.first());
    event.stop();
    return event.fire();
  }
  auto& operation = static_cast<Operation&>(agenda.timers.first());
  operation.stop();
  if (auto* message = dynamic_cast<Message*>(&operation); message != nullptr && message->state) {
    message->moved = static_cast<Parcel*>(message->state)->channel->moved(*message);
  }
  operation.expire();
}

bool Simulation::settle() {
  if (network.settled()) return false;
  network.settle();
  for (const int link : network.renewed()) {
    const int host = host_of_link_[static_cast<size_t>(link)];
    if (host >= 0) processor(host).settle();
  }
  return true;
}

bool Simulation::count() {
  ++all_events;
  return ++events_of_run <= options.events_max && ++events_at_once <= options.events_at_once_max;
}

void Simulation::note(Note note, Rank rank, uint64_t detail) {
  for (const uint64_t part : {std::bit_cast<uint64_t>(now), static_cast<uint64_t>(note),
                              static_cast<uint64_t>(rank), detail}) {
    trace = (trace ^ part) * 0x9E3779B97F4A7C15;
    trace ^= trace >> 32;
  }
}

}  // namespace syrtos::world
