#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "syrtos/world/tcp/frame.h"
#include "syrtos/world/waiter.h"
#include "syrtos/world/world.h"

namespace syrtos::world {
class TcpWorld;
}

namespace syrtos::world::tcp {

/// A message of which something has arrived.
struct Incoming {
  uint32_t lane = 0;
  uint32_t round = 0;
  uint64_t sequence = 0;
  size_t total = 0;
  size_t expected = 0;  ///< less than the total when its sender gave it up
  size_t received = 0;
  size_t begun = 0;  ///< bytes of frames that have come or are coming, on any connection
  std::vector<std::pair<size_t, size_t>> parts;  ///< of them, begin and end; none for a single one
  bool withdrawn = false;
  bool unwanted = false;              ///< what comes is thrown away
  Message* recv = nullptr;            ///< whom it is for, once that is known
  std::optional<Offered> offered;     ///< when it is to be taken from the sender's memory
  size_t taken = 0;                   ///< of that
  std::unique_ptr<std::byte[]> kept;  ///< when bytes came before the recv
  size_t kept_bytes = 0;              ///< at least the total

  bool complete() const { return received == expected; }
  /// A frame begins; false when its bytes have come before, or are too many.
  bool begin(size_t offset, size_t bytes);
  /// Memory into which the bytes at `offset` can be read; null when they must pass through land().
  std::byte* place(size_t offset) const;
  void land(size_t offset, const std::byte* data, size_t bytes) const;
};

/// What one rank sent: brings the messages of each lane, by sequence, to the recvs, in order. What
/// messages leave is used again by those that follow, so that nothing is allocated for each.
class Inbox {
 public:
  Inbox(TcpWorld& world, Rank peer) : world_(world), peer_(peer) {}

  void post(Message& recv);
  void abandon(Message& recv);

  /// False for a large message that nobody waits for: it would have to be kept.
  bool expects(const FrameHeader& frame) const;
  /// Where a frame belongs; null when it cannot be right.
  Incoming* begin(const FrameHeader& frame);
  /// All of a frame's bytes are in their place.
  void end(Incoming& incoming, size_t bytes);
  bool withdraw(const FrameHeader& frame);

  /// A message that can be taken from its sender's memory.
  bool offer(const FrameHeader& frame);
  /// The next one that somebody waits for; null when there is none.
  Incoming* to_take() const { return to_take_.empty() ? nullptr : to_take_.front(); }
  /// It is in its place, or `complete` is false: it is being withdrawn.
  void take(Incoming& incoming, bool complete);
  /// Slots that their sender can use again.
  std::vector<uint64_t>& given_back() { return given_back_; }

  /// Nothing more comes. Messages that are complete can still be received.
  void lose(const std::string& why);
  /// The world is about to end: nobody will receive.
  void close() { closed_ = true; }

 private:
  using Arrived = std::map<uint64_t, Incoming>;  // by sequence
  struct Lane {
    uint64_t next = 0;  // sequence that the next recv gets
    WaitList waiting;
    Arrived arrived;
  };
  struct Memory {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };

  Incoming* find(const FrameHeader& frame);
  Incoming& add(Lane& lane, uint64_t sequence);
  void remove(Lane& lane, Arrived::iterator place);
  bool keep(Incoming& incoming);
  void count_kept(size_t bytes);
  void release(Incoming& incoming);
  void match(Lane& lane);
  void bind(Lane& lane, Incoming& incoming, Message& recv);
  void finish(Lane& lane, Incoming& incoming);
  void give_back(Incoming& incoming);

  TcpWorld& world_;
  const Rank peer_;
  std::unordered_map<uint32_t, Lane> lanes_;
  std::string lost_;  // why
  bool closed_ = false;
  std::vector<Incoming*> to_take_;
  std::vector<uint64_t> given_back_;
  std::vector<Arrived::node_type> spare_;
  std::vector<Memory> spare_memory_;
  size_t spare_bytes_ = 0;  // of it
  size_t kept_bytes_ = 0;   // of messages that came before their recvs
};

}  // namespace syrtos::world::tcp
