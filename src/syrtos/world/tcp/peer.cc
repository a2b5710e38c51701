#include "syrtos/world/tcp/peer.h"

#include <algorithm>

#include "syrtos/world/tcp/tcp.h"

namespace syrtos::world::tcp {

Peer::Peer(TcpWorld& world, Rank rank, std::vector<Descriptor> sockets)
    : world_(world), rank_(rank), inbox_(world, rank), heard_at_(world.now()) {
  for (Descriptor& socket : sockets) connections_.emplace_back(*this, std::move(socket));
}

void Peer::send(Message& message) {
  if (lost()) return message.fail(world_.peer_lost(message, lost_));
  message.sequence = sequences_[message.tag.lane()]++;
  outgoing_.emplace_back();
  Outgoing& outgoing = outgoing_.back();
  outgoing.message = &message;
  outgoing.place = std::prev(outgoing_.end());
  message.state = &outgoing;
  const auto after = std::upper_bound(
      queue_.begin(), queue_.end(), message.priority,
      [](int priority, const Outgoing* other) { return priority > other->message->priority; });
  queue_.insert(after, &outgoing);
  kick();
}

void Peer::kick() {
  for (Connection& connection : connections_) {
    if (queue_.empty()) return;
    if (connection.idle()) connection.write();
  }
}

bool Peer::next_frame(OutFrame& frame) {
  if (queue_.empty()) return false;
  Outgoing& outgoing = *queue_.front();
  const Message& message = *outgoing.message;
  const size_t bytes = std::min(kFrameBytes, message.source.bytes - outgoing.assigned);
  frame.header = {};
  frame.header.lane = message.tag.lane();
  frame.header.round = message.tag.round;
  frame.header.bytes = static_cast<uint32_t>(bytes);
  frame.header.sequence = message.sequence;
  frame.header.offset = outgoing.assigned;
  frame.header.total = message.source.bytes;
  frame.data = static_cast<const std::byte*>(message.source.data) + outgoing.assigned;
  frame.message = &outgoing;
  outgoing.assigned += bytes;
  ++outgoing.frames;
  if (outgoing.assigned == message.source.bytes) {
    outgoing.all_assigned = true;
    queue_.erase(queue_.begin());
  }
  return true;
}

void Peer::written(Outgoing& outgoing, size_t bytes) {
  --outgoing.frames;
  outgoing.message->moved += bytes;
  if (outgoing.all_assigned && outgoing.frames == 0) finish(outgoing);
}

void Peer::finish(Outgoing& outgoing) {
  Message& message = *outgoing.message;
  message.state = nullptr;
  world_.count().messages_sent += 1;
  world_.count().bytes_sent += message.bytes();
  outgoing_.erase(outgoing.place);
  message.finish();
}

void Peer::abandon(Message& message) {
  if (message.direction == Message::Direction::recv) return inbox_.abandon(message);
  if (message.state == nullptr) return;
  Outgoing& outgoing = *static_cast<Outgoing*>(message.state);
  message.state = nullptr;
  for (Connection& connection : connections_) connection.detach(outgoing);
  if (!outgoing.all_assigned) {
    std::erase(queue_, &outgoing);
    FrameHeader frame;
    frame.type = FrameType::withdrawn;
    frame.lane = message.tag.lane();
    frame.round = message.tag.round;
    frame.sequence = message.sequence;
    frame.offset = outgoing.assigned;
    frame.total = message.source.bytes;
    outgoing_.erase(outgoing.place);
    return say(frame);
  }
  outgoing_.erase(outgoing.place);
}

void Peer::say(const FrameHeader& frame) {
  Connection& first = connections_.front();
  first.push(frame);
  if (first.idle()) first.write();
}

bool Peer::pump() {
  bool more = false;
  for (Connection& connection : connections_) {
    if (!lost()) more = connection.pump() || more;
  }
  return more && !lost();
}

bool Peer::control(const FrameHeader& frame) {
  switch (frame.type) {
    case FrameType::withdrawn:
      return inbox_.withdraw(frame);
    case FrameType::heartbeat:
      return true;
    case FrameType::good_bye:
      good_bye_ = frame.round == 0 ? "it has ended" : "it failed";
      // What it sent before may still be on its way on the other connections.
      if (++good_byes_ == connections_.size()) lose(good_bye_);
      return true;
    case FrameType::data:
      break;
  }
  return false;
}

void Peer::broken(const std::string& why) {
  if (lost() || breaking_) return;
  // What arrived before is still to be had, perhaps a good-bye among it.
  breaking_ = true;
  for (Connection& connection : connections_) connection.drain();
  breaking_ = false;
  if (!lost()) lose(good_bye_.empty() ? why : good_bye_);
}

void Peer::lose(const std::string& why) {
  if (lost()) return;
  lost_ = why;
  for (Connection& connection : connections_) connection.close();
  inbox_.lose(why);
  queue_.clear();
  std::list<Outgoing> outgoing;
  outgoing.swap(outgoing_);
  for (const Outgoing& one : outgoing) {
    one.message->state = nullptr;
    one.message->fail(world_.peer_lost(*one.message, why));
  }
}

void Peer::beat(double now, double lost_after, double grace) {
  if (lost()) return;
  heard_at_ = heard_ ? now : heard_at_ + grace;
  heard_ = false;
  if (now - heard_at_ > lost_after) return lose(fmt::format("silent for {:g} s", lost_after));
  if (!sent_ && connections_.front().flushed()) {
    FrameHeader frame;
    frame.type = FrameType::heartbeat;
    say(frame);
  }
  sent_ = false;
}

void Peer::say_good_bye(bool failed) {
  if (lost()) return;
  inbox_.close();
  FrameHeader frame;
  frame.type = FrameType::good_bye;
  frame.round = failed ? 1 : 0;
  for (Connection& connection : connections_) connection.push(frame);
}

bool Peer::settled() const {
  if (lost()) return true;
  return std::all_of(connections_.begin(), connections_.end(), [](const Connection& connection) {
    return connection.flushed() && connection.unacknowledged() == 0;
  });
}

}  // namespace syrtos::world::tcp
