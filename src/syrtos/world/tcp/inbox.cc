#include "syrtos/world/tcp/inbox.h"

#include <unistd.h>

#include <algorithm>

#include "syrtos/world/tcp/tcp.h"

namespace syrtos::world::tcp {

namespace {

constexpr size_t kMostSpare = 64;                    // entries
constexpr size_t kMostSpareBytes = 4 * 1024 * 1024;  // of memory for early messages

/// What one rank may send before it is asked for: what does not fit into this machine is no
/// message.
size_t most_kept() {
  static const size_t bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

std::byte* Incoming::place(size_t offset) const {
  if (unwanted) return nullptr;
  if (kept) return kept.get() + offset;
  if (recv == nullptr || !recv->target.landing.copies()) return nullptr;
  auto* data = static_cast<std::byte*>(recv->target.data);
  return data == nullptr ? nullptr : data + offset;
}

bool Incoming::begin(size_t offset, size_t bytes) {
  if (bytes > expected - begun || offered) return false;
  if (bytes < total) {
    if (bytes == 0) return false;
    const auto after = std::lower_bound(parts.begin(), parts.end(), std::pair(offset, size_t{0}));
    const bool overlaps = (after != parts.end() && after->first < offset + bytes) ||
                          (after != parts.begin() && std::prev(after)->second > offset);
    if (overlaps) return false;
    // Frames come almost in order: mostly there is one part, which grows.
    if (after != parts.begin() && std::prev(after)->second == offset) {
      std::prev(after)->second += bytes;
    } else {
      parts.insert(after, {offset, offset + bytes});
    }
  }
  begun += bytes;
  return true;
}

void Incoming::land(size_t offset, const std::byte* data, size_t bytes) const {
  if (recv != nullptr) world::land(recv->target, offset, data, bytes);
}

void Inbox::post(Message& recv) {
  Lane& lane = lanes_[recv.tag.lane()];
  lane.waiting.push(recv);
  match(lane);
  if (recv.linked() && recv.pending() && !lost_.empty()) {
    recv.unlink();
    recv.fail(world_.peer_lost(recv, lost_));
  }
}

void Inbox::abandon(Message& recv) {
  recv.unlink();
  if (recv.state == nullptr) return;
  // The rest of it is read and thrown away.
  auto& incoming = *static_cast<Incoming*>(recv.state);
  recv.state = nullptr;
  incoming.recv = nullptr;
  incoming.unwanted = true;
  release(incoming);
  if (incoming.offered) {
    give_back(incoming);
    finish(lanes_[incoming.lane], incoming);
  }
}

Incoming* Inbox::find(const FrameHeader& frame) {
  Lane& lane = lanes_[frame.lane];
  const auto found = lane.arrived.find(frame.sequence);
  if (found != lane.arrived.end()) {
    Incoming& incoming = found->second;
    return incoming.round == frame.round && incoming.total == frame.total ? &incoming : nullptr;
  }
  if (frame.sequence < lane.next) return nullptr;
  Incoming& incoming = add(lane, frame.sequence);
  incoming.lane = frame.lane;
  incoming.round = frame.round;
  incoming.sequence = frame.sequence;
  incoming.total = incoming.expected = frame.total;
  incoming.unwanted = closed_;
  return &incoming;
}

Incoming& Inbox::add(Lane& lane, uint64_t sequence) {
  if (spare_.empty()) return lane.arrived[sequence];
  Arrived::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = sequence;
  node.mapped() = {};
  return lane.arrived.insert(std::move(node)).position->second;
}

void Inbox::remove(Lane& lane, Arrived::iterator place) {
  release(place->second);
  Arrived::node_type node = lane.arrived.extract(place);
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(node));
}

/// Memory for a message that comes before its recv.
bool Inbox::keep(Incoming& incoming) {
  const auto fits = std::find_if(spare_memory_.begin(), spare_memory_.end(), [&](const Memory& m) {
    return m.size >= incoming.total && m.size / 4 <= incoming.total;
  });
  if (fits == spare_memory_.end()) {
    if (incoming.total > most_kept() - std::min(most_kept(), kept_bytes_)) return false;
    incoming.kept = std::make_unique_for_overwrite<std::byte[]>(incoming.total);
    incoming.kept_bytes = incoming.total;
    count_kept(incoming.kept_bytes);
    return true;
  }
  incoming.kept = std::move(fits->bytes);
  incoming.kept_bytes = fits->size;
  spare_bytes_ -= fits->size;
  count_kept(fits->size);
  std::swap(*fits, spare_memory_.back());
  spare_memory_.pop_back();
  return true;
}

void Inbox::count_kept(size_t bytes) {
  kept_bytes_ += bytes;
  world_.kept_ += bytes;
  world_.most_kept_ = std::max(world_.most_kept_, world_.kept_);
}

void Inbox::release(Incoming& incoming) {
  if (!incoming.kept) return;
  kept_bytes_ -= incoming.kept_bytes;
  world_.kept_ -= incoming.kept_bytes;
  if (spare_memory_.size() < kMostSpare && spare_bytes_ + incoming.kept_bytes <= kMostSpareBytes) {
    spare_bytes_ += incoming.kept_bytes;
    spare_memory_.push_back({std::move(incoming.kept), incoming.kept_bytes});
  }
  incoming.kept.reset();
}

bool Inbox::expects(const FrameHeader& frame) const {
  constexpr size_t kLarge = 64 * 1024;
  if (frame.total < kLarge || closed_) return true;
  const auto found = lanes_.find(frame.lane);
  if (found == lanes_.end()) return false;
  const Lane& lane = found->second;
  return lane.arrived.contains(frame.sequence) ||
         (lane.next == frame.sequence && !lane.waiting.empty());
}

Incoming* Inbox::begin(const FrameHeader& frame) {
  if (frame.total > kMostBytes || frame.bytes > kFrameBytes || frame.offset > frame.total ||
      frame.bytes > frame.total - frame.offset || frame.offset % kLandingGrain != 0) {
    return nullptr;
  }
  Incoming* incoming = find(frame);
  if (incoming == nullptr || !incoming->begin(frame.offset, frame.bytes)) return nullptr;
  // A frame that ends its message before it began to be matched would be matched by end().
  if (incoming->recv == nullptr && !incoming->unwanted && !incoming->kept) {
    if (frame.bytes > 0) match(lanes_[frame.lane]);
    if (incoming->recv == nullptr && !incoming->unwanted && frame.total > 0 && !keep(*incoming)) {
      return nullptr;
    }
  }
  return incoming;
}

void Inbox::end(Incoming& incoming, size_t bytes) {
  incoming.received += bytes;
  if (incoming.recv != nullptr) incoming.recv->moved = incoming.received;
  if (!incoming.complete()) return;
  Lane& lane = lanes_[incoming.lane];
  if (incoming.recv != nullptr || incoming.unwanted) return finish(lane, incoming);
  match(lane);
}

bool Inbox::withdraw(const FrameHeader& frame) {
  if (frame.bytes != 0 || frame.total > kMostBytes || frame.offset > frame.total) return false;
  // It may have been taken when its sender gave it up.
  if (frame.sequence < lanes_[frame.lane].next &&
      !lanes_[frame.lane].arrived.contains(frame.sequence)) {
    return true;
  }
  Incoming* incoming = find(frame);
  if (incoming == nullptr || incoming->withdrawn || frame.offset < incoming->begun) return false;
  if (incoming->offered) give_back(*incoming);
  incoming->withdrawn = true;
  incoming->expected = frame.offset;
  release(*incoming);
  Lane& lane = lanes_[frame.lane];
  if (incoming->recv != nullptr) {
    Message& recv = *incoming->recv;
    incoming->recv = nullptr;
    incoming->unwanted = true;
    // Who leaves a message unfinished fails: it is only not gone yet.
    recv.fail(world_.peer_lost(recv, "it gave the message up"));
  }
  if (!incoming->unwanted) {
    match(lane);
  } else if (incoming->complete()) {
    finish(lane, *incoming);
  }
  return true;
}

bool Inbox::offer(const FrameHeader& frame) {
  if (frame.bytes != 0 || frame.total > kMostBytes || frame.total == 0) return false;
  Incoming* incoming = find(frame);
  if (incoming == nullptr || incoming->offered || incoming->begun > 0) return false;
  incoming->offered = Offered::of(frame.offset);
  if (incoming->unwanted) give_back(*incoming);
  match(lanes_[frame.lane]);
  return true;
}

void Inbox::take(Incoming& incoming, bool complete) {
  if (!complete) {
    std::erase(to_take_, &incoming);
    return;
  }
  give_back(incoming);
  end(incoming, incoming.total);
}

/// Its sender can have the memory back. What is unwanted counts as received.
void Inbox::give_back(Incoming& incoming) {
  std::erase(to_take_, &incoming);
  given_back_.push_back(incoming.offered->slot);
  incoming.offered.reset();
  if (incoming.unwanted) incoming.received = incoming.expected;
}

/// Gives the lane's next messages to those who wait.
void Inbox::match(Lane& lane) {
  while (true) {
    const auto found = lane.arrived.find(lane.next);
    if (found == lane.arrived.end()) return;
    Incoming& incoming = found->second;
    if (!incoming.withdrawn && !incoming.unwanted) {
      if (lane.waiting.empty()) return;
      ++lane.next;
      bind(lane, incoming, static_cast<Message&>(lane.waiting.pop()));
      continue;
    }
    ++lane.next;
    incoming.unwanted = true;
    if (incoming.complete()) remove(lane, found);
  }
}

void Inbox::bind(Lane& lane, Incoming& incoming, Message& recv) {
  if (incoming.round != recv.tag.round || incoming.total != recv.bytes()) {
    const Tag found{recv.tag.purpose, recv.tag.item, incoming.round};
    recv.fail(world_.mismatch(recv, found, incoming.total));
    incoming.unwanted = true;
    release(incoming);
    if (incoming.offered) give_back(incoming);
  } else {
    incoming.recv = &recv;
    recv.state = &incoming;
    recv.moved = incoming.received;
    if (incoming.offered) to_take_.push_back(&incoming);
  }
  // A message without bytes is complete before its only frame has ended.
  if (incoming.complete() && (incoming.kept || incoming.unwanted || incoming.total == 0)) {
    finish(lane, incoming);
  }
}

void Inbox::finish(Lane& lane, Incoming& incoming) {
  if (incoming.recv != nullptr) {
    Message& recv = *incoming.recv;
    if (incoming.kept) world::land(recv.target, 0, incoming.kept.get(), incoming.total);
    recv.state = nullptr;
    world_.count().messages_received += 1;
    world_.count().bytes_received += incoming.total;
    recv.finish();
  }
  if (incoming.sequence < lane.next) remove(lane, lane.arrived.find(incoming.sequence));
}

void Inbox::lose(const std::string& why) {
  lost_ = why;
  to_take_.clear();
  given_back_.clear();
  const auto fail = [&](Message& recv) {
    recv.state = nullptr;
    recv.fail(world_.peer_lost(recv, why));
  };
  for (auto& [key, lane] : lanes_) {
    while (!lane.waiting.empty()) fail(static_cast<Message&>(lane.waiting.pop()));
    for (auto at = lane.arrived.begin(); at != lane.arrived.end();) {
      Incoming& incoming = at->second;
      if (incoming.complete()) {
        ++at;
        continue;
      }
      if (incoming.recv != nullptr) fail(*incoming.recv);
      release(incoming);
      at = lane.arrived.erase(at);
    }
  }
}

}  // namespace syrtos::world::tcp
