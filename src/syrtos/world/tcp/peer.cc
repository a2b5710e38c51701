#include "syrtos/world/tcp/peer.h"

#include <algorithm>
#include <cerrno>

#include "syrtos/base/log.h"
#include "syrtos/world/tcp/tcp.h"

namespace syrtos::world::tcp {

namespace {

constexpr size_t kOfferedFrom = 64 * 1024;  // bytes: below, copying twice is cheaper
constexpr size_t kScratchBytes = 256 * 1024;
constexpr size_t kTurnOfPeer = 1024 * 1024;

}  // namespace

Peer::Peer(TcpWorld& world, Rank rank, std::vector<std::unique_ptr<Stream>> streams,
           std::unique_ptr<SharedMemory> shared)
    : world_(world),
      rank_(rank),
      inbox_(world, rank),
      shared_(std::move(shared)),
      heard_at_(world.now()) {
  for (std::unique_ptr<Stream>& stream : streams) {
    connections_.emplace_back(*this, std::move(stream));
    connections_.back().set_carries_data(shared_ == nullptr);
  }
  if (!shared_) return;
  auto ring = shared_->stream();
  ring_ = ring.get();
  connections_.emplace_back(*this, std::move(ring));
  scratch_ = std::make_unique_for_overwrite<std::byte[]>(kScratchBytes);
  offered_.resize(kPullSlots);
  slot_used_.resize(kPullSlots);
  for (uint64_t slot = kPullSlots; shared_->can_pull() && slot > 0;) free_slots_.push_back(--slot);
}

void Peer::send(Message& message) {
  if (lost()) return message.fail(world_.peer_lost(message, lost_));
  message.sequence = sequences_[message.tag.lane()]++;
  Outgoing& outgoing = add(message);
  const auto after = std::upper_bound(
      queue_.begin(), queue_.end(), message.priority,
      [](int priority, const Outgoing* other) { return priority > other->message->priority; });
  queue_.insert(after, &outgoing);
  kick();
}

Outgoing& Peer::add(Message& message) {
  if (spare_.empty()) spare_.emplace_back();
  outgoing_.splice(outgoing_.end(), spare_, spare_.begin());
  Outgoing& outgoing = outgoing_.back();
  outgoing = {};
  outgoing.message = &message;
  outgoing.place = std::prev(outgoing_.end());
  message.state = &outgoing;
  return outgoing;
}

void Peer::remove(Outgoing& outgoing) { spare_.splice(spare_.begin(), outgoing_, outgoing.place); }

double Peer::now() const { return world_.now(); }

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
  frame.header = {};
  const bool offers = offer(outgoing, frame.header);
  const size_t bytes = offers ? 0 : std::min(kFrameBytes, message.source.bytes - outgoing.assigned);
  frame.header.lane = message.tag.lane();
  frame.header.round = message.tag.round;
  frame.header.bytes = static_cast<uint32_t>(bytes);
  frame.header.sequence = message.sequence;
  if (!offers) frame.header.offset = outgoing.assigned;
  frame.header.total = message.source.bytes;
  frame.data = static_cast<const std::byte*>(message.source.data) + outgoing.assigned;
  frame.message = &outgoing;
  outgoing.assigned += bytes;
  ++outgoing.frames;
  if (offers || outgoing.assigned == message.source.bytes) {
    outgoing.all_assigned = true;
    queue_.erase(queue_.begin());
  }
  return true;
}

void Peer::written(Outgoing& outgoing, size_t bytes) {
  --outgoing.frames;
  outgoing.message->moved += bytes;
  if (outgoing.all_assigned && outgoing.frames == 0 && outgoing.slot < 0) finish(outgoing);
}

void Peer::finish(Outgoing& outgoing) {
  Message& message = *outgoing.message;
  message.state = nullptr;
  world_.count().messages_sent += 1;
  world_.count().bytes_sent += message.bytes();
  remove(outgoing);
  message.finish();
}

void Peer::abandon(Message& message) {
  if (message.direction == Message::Direction::recv) return inbox_.abandon(message);
  if (message.state == nullptr) return;
  Outgoing& outgoing = *static_cast<Outgoing*>(message.state);
  message.state = nullptr;
  for (Connection& connection : connections_) connection.detach(outgoing);
  if (outgoing.slot >= 0) {
    // The receiver looks here after it has read: then it knows that this may be rubbish.
    ring_->live_out(static_cast<size_t>(outgoing.slot)).store(0, std::memory_order_seq_cst);
    offered_[static_cast<size_t>(outgoing.slot)] = nullptr;
  }
  if (!outgoing.all_assigned || outgoing.slot >= 0) {
    std::erase(queue_, &outgoing);
    FrameHeader frame;
    frame.type = FrameType::withdrawn;
    frame.lane = message.tag.lane();
    frame.round = message.tag.round;
    frame.sequence = message.sequence;
    frame.offset = outgoing.assigned;
    frame.total = message.source.bytes;
    remove(outgoing);
    return say(lead(), frame);
  }
  remove(outgoing);
}

void Peer::say(Connection& connection, const FrameHeader& frame) {
  connection.push(frame);
  if (connection.idle()) connection.write();
}

bool Peer::pump() {
  bool more = false;
  for (Connection& connection : connections_) {
    if (!lost()) more = connection.pump() || more;
  }
  if (shared_ && !lost()) more = take_some() || more;
  if (shared_ && !lost() && ring_->must_wake()) {
    FrameHeader frame;
    frame.type = FrameType::heartbeat;
    say(connections_.front(), frame);
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
    case FrameType::offer:
      return shared_ && frame.total > 0 && inbox_.offer(frame);
    case FrameType::taken:
      return taken(frame.offset);
    case FrameType::data:
      break;
  }
  return false;
}

/// Large messages stay where they are, and the receiver fetches them.
bool Peer::offer(Outgoing& outgoing, FrameHeader& frame) {
  const Source& source = outgoing.message->source;
  if (source.bytes < kOfferedFrom || outgoing.assigned > 0 || free_slots_.empty()) return false;
  const uint64_t slot = free_slots_.back();
  free_slots_.pop_back();
  offered_[slot] = &outgoing;
  slot_used_[slot] = true;
  outgoing.slot = static_cast<int>(slot);
  ring_->live_out(slot).store(1, std::memory_order_release);
  frame.type = FrameType::offer;
  frame.offset = Offered{reinterpret_cast<uint64_t>(source.data), slot}.offset();
  return true;
}

bool Peer::taken(uint64_t slot) {
  if (slot >= offered_.size() || !slot_used_[slot]) return false;
  slot_used_[slot] = false;
  free_slots_.push_back(slot);
  Outgoing* outgoing = std::exchange(offered_[slot], nullptr);
  if (outgoing == nullptr) return true;
  outgoing->message->moved = outgoing->message->bytes();
  finish(*outgoing);
  return true;
}

/// Fetches a part of what was offered; true when there is more.
bool Peer::take_some() {
  if (Incoming* incoming = inbox_.to_take(); incoming != nullptr) {
    const Offered offered = *incoming->offered;
    const size_t end = std::min(incoming->total, incoming->taken + kTurnOfPeer);
    bool right = offered.slot < kPullSlots;
    while (right && incoming->taken < end) {
      const size_t at = incoming->taken;
      std::byte* place = incoming->place(at);
      const size_t bytes = std::min(end - at, place != nullptr ? kTurnOfPeer : kScratchBytes);
      std::byte* to = place != nullptr ? place : scratch_.get();
      right = shared_->pull(offered.address + at, to, bytes);
      if (right && place == nullptr) incoming->land(at, to, bytes);
      incoming->taken += bytes;
    }
    incoming->recv->moved = incoming->taken;
    note_heard();
    const bool live = offered.slot < kPullSlots &&
                      ring_->live_in(offered.slot).load(std::memory_order_seq_cst) == 1;
    if (live && !right) {
      broken(errno == ESRCH ? "connection closed" : "its memory cannot be read");
      return false;
    }
    if (!live || incoming->taken == incoming->total) inbox_.take(*incoming, live);
  }
  FrameHeader frame;
  frame.type = FrameType::taken;
  for (const uint64_t slot : inbox_.given_back()) {
    frame.offset = slot;
    lead().push(frame);
  }
  if (!inbox_.given_back().empty() && lead().idle()) lead().write();
  inbox_.given_back().clear();
  return inbox_.to_take() != nullptr;
}

bool Peer::fall_asleep() { return ring_->fall_asleep(!lead().flushed() || has_frames()); }

void Peer::wake_up() { ring_->wake_up(); }

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
  log_info("the connection to rank {} is closed: {}", rank_, why);
  lost_ = why;
  for (size_t slot = 0; slot < offered_.size(); ++slot) {
    ring_->live_out(slot).store(0, std::memory_order_seq_cst);
  }
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
  // A part of a frame may have come, for which nobody was woken.
  for (Connection& connection : connections_) {
    if (!lost()) connection.look();
  }
  if (lost()) return;
  heard_at_ = heard_ ? now : heard_at_ + grace;
  heard_ = false;
  if (now - heard_at_ > lost_after) return lose(fmt::format("silent for {:g} s", lost_after));
  if (!sent_ && connections_.front().flushed()) {
    FrameHeader frame;
    frame.type = FrameType::heartbeat;
    say(connections_.front(), frame);
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
