#pragma once

#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "syrtos/world/tcp/connection.h"
#include "syrtos/world/tcp/inbox.h"
#include "syrtos/world/tcp/shared.h"

namespace syrtos::world::tcp {

/// A message that is being sent.
struct Outgoing {
  Message* message = nullptr;
  size_t assigned = 0;  ///< bytes that went into frames
  size_t frames = 0;    ///< that are being written
  bool all_assigned = false;
  int slot = -1;  ///< of its offer
  std::list<Outgoing>::iterator place;
};

/// Another rank: the messages that wait to be sent to it, the connections that take them frame by
/// frame, and what came from it.
class Peer {
 public:
  /// Without common memory, everything goes over the streams.
  Peer(TcpWorld& world, Rank rank, std::vector<std::unique_ptr<Stream>> streams,
       std::unique_ptr<SharedMemory> shared);

  void send(Message& message);
  void recv(Message& message) { inbox_.post(message); }
  void abandon(Message& message);

  bool lost() const { return !lost_.empty(); }
  void lose(const std::string& why);
  std::deque<Connection>& connections() { return connections_; }
  Inbox& inbox() { return inbox_; }

  /// True when there may be more to do at once.
  bool pump();
  bool shares_memory() const { return ring_ != nullptr; }
  /// Something has come over common memory.
  bool has_news() const { return ring_->readable(); }
  /// These are called before this thread sleeps, and after. False: there is something to do.
  bool fall_asleep();
  void wake_up();
  /// Shows that we are alive and looks whether it is. `grace` is time in which we did not look.
  void beat(double now, double lost_after, double grace);
  void say_good_bye(bool failed);
  /// Everything was written and has arrived there.
  bool settled() const;

  // For its connections.
  bool has_frames() const { return !queue_.empty(); }
  bool next_frame(OutFrame& frame);
  void written(Outgoing& message, size_t bytes);
  double now() const;
  void note_sent() { sent_ = true; }
  void note_heard() { heard_ = true; }
  bool control(const FrameHeader& frame);
  /// A connection ended without a good-bye.
  void broken(const std::string& why);

 private:
  Outgoing& add(Message& message);
  void remove(Outgoing& message);
  void finish(Outgoing& message);
  void kick();
  void say(Connection& connection, const FrameHeader& frame);
  /// The one that carries data and small control frames.
  Connection& lead() { return shared_ ? connections_.back() : connections_.front(); }
  bool offer(Outgoing& outgoing, FrameHeader& frame);
  bool taken(uint64_t slot);
  bool take_some();

  TcpWorld& world_;
  const Rank rank_;
  Inbox inbox_;
  std::deque<Connection> connections_;
  std::unique_ptr<SharedMemory> shared_;
  RingStream* ring_ = nullptr;      // of the last connection, which owns it
  std::vector<Outgoing*> offered_;  // by slot: null after it was abandoned
  std::vector<bool> slot_used_;     // by slot: an offer is out
  std::vector<uint64_t> free_slots_;
  std::unique_ptr<std::byte[]> scratch_;
  std::list<Outgoing> outgoing_;
  std::list<Outgoing> spare_;     // entries that can be used again
  std::vector<Outgoing*> queue_;  // of those that still have bytes to assign: urgent ones first
  std::unordered_map<uint32_t, uint64_t> sequences_;  // by lane
  std::string lost_;                                  // why
  std::string good_bye_;                              // what it said
  size_t good_byes_ = 0;
  bool breaking_ = false;
  bool sent_ = false;   // something since the last beat
  bool heard_ = false;  // something since the last beat
  double heard_at_;
};

}  // namespace syrtos::world::tcp
