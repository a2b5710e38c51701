#include "syrtos/world/sim/channel.h"

#include <algorithm>
#include <cmath>

#include "syrtos/world/sim/sim_world.h"
#include "syrtos/world/sim/simulation.h"

namespace syrtos::world {

void Parcel::fire() { channel->arrive(*this); }

Channel::Channel(Simulation& simulation, SimWorld& from, SimWorld& to)
    : Flow(simulation.network),
      simulation_(simulation),
      from_(from),
      to_(to),
      latency_(simulation.latency(from.host_index(), to.host_index())),
      cut_(simulation.partitions.cut(from.host_index(), to.host_index())) {
  simulation.route(*this, from.host_index(), to.host_index());
}

/// Most messages follow another one of their lane.
Lane& Channel::lane(uint32_t key) {
  if (latest_ != nullptr && latest_->key == key) return *latest_;
  Lane*& lane = lane_of_key_[key];
  if (lane == nullptr) lane = &lanes_.emplace_back(key);
  latest_ = lane;
  return *lane;
}

void Channel::send(Message& message) {
  if (lost_at() <= simulation_.now) return message.fail(from_.lost(message));
  Parcel& parcel = simulation_.new_parcel();
  parcel.channel = this;
  parcel.lane = &lane(message.tag.lane());
  parcel.send = &message;
  parcel.tag = message.tag;
  parcel.bytes = message.bytes();
  parcel.priority = message.priority;
  parcel.left = static_cast<double>(parcel.bytes) + simulation_.options.message_overhead_bytes;
  Parcel* before = parcel.lane->parcels.last();
  // Whatever its priority, it overtakes nothing of its own lane.
  if (before != nullptr && before->send != nullptr) {
    parcel.priority = std::min(parcel.priority, before->priority);
  }
  parcel.lane->parcels.insert(parcel, before);
  message.state = &parcel;
  if (within_rank()) {
    leave(parcel);
    return arrive(parcel);
  }
  enqueue(parcel);
  pump();
}

/// Behind those of the same or a higher priority.
void Channel::enqueue(Parcel& parcel) {
  Parcel* place = queue_.last();
  while (place != nullptr && place->priority < parcel.priority) place = queue_.before(*place);
  queue_.insert(parcel, place);
}

/// The first of the queue flows.
void Channel::pump() {
  if (sending_ == queue_.first() || cut_) return;
  if (sending_ != nullptr) halt();
  sending_ = queue_.first();
  if (simulation_.options.uneven_sharing > 0) draw_weight();
  simulation_.network.start(*this, sending_->left);
  from_.moves(1);
  to_.moves(1);
}

/// The stream keeps its part of a link for a while: the longer ago it was drawn, the less of it is
/// left in the next one.
void Channel::draw_weight() {
  constexpr double kKeptFor = 0.3;  // seconds
  const double kept = shares_ == 0 ? 0 : std::exp((drawn_at_ - simulation_.now) / kKeptFor);
  const double fresh = simulation_.chance.share(from_.rank(), to_.rank(), shares_++);
  share_ = kept * share_ + std::sqrt(1 - kept * kept) * fresh;
  drawn_at_ = simulation_.now;
  set_weight(std::exp(simulation_.options.uneven_sharing * share_));
}

void Channel::halt() {
  sending_->left = simulation_.network.stop(*this);
  sending_ = nullptr;
  from_.moves(-1);
  to_.moves(-1);
}

void Channel::sent() {
  Parcel& parcel = *sending_;
  sending_ = nullptr;
  from_.moves(-1);
  to_.moves(-1);
  queue_.erase(parcel);
  leave(parcel);
  from_.count_sent(parcel.bytes);
  simulation_.note(Simulation::Note::sent, from_.rank(), parcel.bytes);
  const double delay = simulation_.chance.delay(from_.rank(), from_.traffic().messages_sent,
                                                static_cast<double>(parcel.bytes));
  simulation_.events.start(parcel, simulation_.now + (latency_ + delay));
  last_arrival_ = std::max(last_arrival_, parcel.at());
  pump();
}

/// The last byte has left: the sender's memory is its own again.
void Channel::leave(Parcel& parcel) {
  Message& send = *parcel.send;
  parcel.send = nullptr;
  send.state = nullptr;
  send.moved = parcel.bytes;
  parcel.data.clear();
  const bool carried = simulation_.options.carry_data || parcel.bytes <= SimOptions::kAlwaysCarried;
  if (carried && send.source.data != nullptr) {
    const auto* data = static_cast<const std::byte*>(send.source.data);
    parcel.data.assign(data, data + parcel.bytes);
  }
  from_.complete(send);
}

void Channel::arrive(Parcel& parcel) {
  parcel.arrived = true;
  simulation_.note(Simulation::Note::arrived, to_.rank(), parcel.bytes);
  deliver(*parcel.lane);
}

/// A message that arrives before an earlier one of its lane, which was delayed, waits for it.
void Channel::deliver(Lane& lane) {
  while (!lane.parcels.empty() && lane.parcels.first()->arrived && !lane.recvs.empty()) {
    Parcel& parcel = *lane.parcels.first();
    lane.parcels.erase(parcel);
    receive(static_cast<Message&>(lane.recvs.pop()), parcel);
    simulation_.free_parcel(parcel);
  }
}

void Channel::receive(Message& recv, const Parcel& parcel) {
  if (recv.tag.round != parcel.tag.round || recv.bytes() != parcel.bytes) {
    return to_.fail(recv, to_.other(recv, parcel));
  }
  if (!parcel.data.empty()) land(recv.target, 0, parcel.data.data(), parcel.bytes);
  recv.moved = parcel.bytes;
  if (!within_rank()) to_.count_received(parcel.bytes);
  to_.complete(recv);
}

void Channel::recv(Message& message) {
  Lane& lane = this->lane(message.tag.lane());
  lane.recvs.push(message);
  deliver(lane);
  if (message.linked()) watch_loss();
}

void Channel::abandon(Message& message) {
  auto& parcel = *static_cast<Parcel*>(message.state);
  Lane& lane = *parcel.lane;
  drop(parcel);
  pump();
  deliver(lane);
}

void Channel::drop(Parcel& parcel) {
  if (sending_ == &parcel) halt();
  parcel.send->state = nullptr;
  queue_.erase(parcel);
  parcel.lane->parcels.erase(parcel);
  simulation_.free_parcel(parcel);
}

size_t Channel::moved(const Message& send) const {
  const auto& parcel = *static_cast<const Parcel*>(send.state);
  const double left = sending_ == &parcel ? simulation_.network.left(*this) : parcel.left;
  const double all = static_cast<double>(parcel.bytes) + simulation_.options.message_overhead_bytes;
  return std::min(parcel.bytes, static_cast<size_t>(all - left));
}

/// When the rank that is left finds out that the other one is lost. What was sent comes first.
double Channel::lost_at() const {
  const int a = from_.host_index();
  const int b = to_.host_index();
  if (simulation_.partitions.severed(a, b)) return 0;
  double at = std::numeric_limits<double>::infinity();
  if (to_.ended()) at = simulation_.partitions.passes(a, b, to_.ended_at()) + latency_;
  if (from_.ended()) {
    const double seen = simulation_.partitions.passes(a, b, from_.ended_at()) + latency_;
    at = std::min(at, std::max(seen, last_arrival_));
  }
  return at;
}

void Channel::check() {
  cut_ = simulation_.partitions.cut(from_.host_index(), to_.host_index());
  if (from_.ended()) {
    while (!queue_.empty()) drop(*queue_.first());
  }
  if (!cut_) {
    pump();
  } else if (sending_ != nullptr) {
    halt();
  }
  watch_loss();
}

/// An event even if it is to be now: what arrives at the same moment comes before it.
void Channel::watch_loss() {
  const double at = std::max(lost_at(), simulation_.now);
  if (at == std::numeric_limits<double>::infinity()) return;
  if (!closing_.running() || at < closing_.at()) simulation_.events.start(closing_, at);
}

/// Whoever waits for the other rank waits in vain.
void Channel::close() {
  while (!queue_.empty()) {
    Message& message = *queue_.first()->send;
    drop(*queue_.first());
    from_.fail(message, from_.lost(message));
  }
  for (Lane& lane : lanes_) {
    while (!lane.recvs.empty()) {
      auto& message = static_cast<Message&>(lane.recvs.pop());
      to_.fail(message, to_.lost(message));
    }
  }
}

}  // namespace syrtos::world
