#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/world/mpi/communicator.h"
#include "syrtos/world/mpi/mpi_world.h"
#include "syrtos/world/mpi/pieces.h"

namespace syrtos::world {

/// What carries messages over MPI. All calls belong to the world's thread.
///
/// The sender offers each message by a header on one MPI tag, which keeps their order; a small
/// message travels within its header. The receiver grants a larger one once somebody awaits it: so
/// nothing large arrives uninvited, and a message that nobody awaits yet stops no other. It then
/// travels in segments, on an MPI tag of its own, a few of them at a time to each rank and those of
/// the highest priority first; the receiver adds one segment while the next one arrives.
///
/// What is cancelled: the sender withdraws the message after the segments that are on their way;
/// the receiver lets the rest of it fall into memory of its own.
class MpiWorld::Transport {
 public:
  Transport(MpiWorld& world, const Communicator& ranks);
  ~Transport();
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;

  void send(Message& message);
  void recv(Message& message);
  void abandon(Message& message);
  void all_reduce(AllReduce& all_reduce);
  void abandon(AllReduce& all_reduce);

  /// False when nothing happened.
  bool progress();
  /// The program has ended here; the others learn it.
  void farewell(const std::exception_ptr& error);
  /// It has ended everywhere and nothing is on its way.
  bool everybody_left() const { return still_here_ == 0 && pieces_.empty(); }
  bool has_left(Rank rank) const { return !why_left(rank).empty(); }
  /// MPI can do nothing more for us but end the job.
  bool broken() const { return broken_.has_value(); }

 private:
  enum class Kind : uint32_t { offer, grant, refuse, withdraw, farewell };
  enum class Carries : uint32_t { nothing, all, segments };
  struct Header {
    Kind kind;
    Carries carries = Carries::nothing;
    uint32_t lane = 0;
    uint32_t round = 0;
    uint64_t id = 0;     ///< the sender's
    uint64_t bytes = 0;  ///< of the message; of a withdrawn one, those that were sent
  };
  /// An offer that nobody awaits yet.
  struct Arrival {
    Header header;
    std::vector<std::byte> data;
    Message* own = nullptr;  ///< of this rank to itself
  };
  struct Lane {
    std::deque<Arrival> arrivals;
    WaitList recvs;
  };
  struct Outgoing {
    Message* message;  ///< nullptr: abandoned
    Rank to;
    uint64_t id;
    bool granted = false;
    size_t begun = 0;  ///< bytes
    size_t ended = 0;
    int in_flight = 0;
  };
  struct Incoming {
    Message* message;  ///< nullptr: abandoned
    Rank from;
    uint64_t id;
    size_t bytes;
    size_t coming;      ///< less than `bytes` if the sender withdrew it
    size_t posted = 0;  ///< bytes
    size_t landed = 0;
  };

  // transport.cc: headers and ends
  void post_header(size_t slot);
  bool take_headers();
  void handle(Rank from, const std::byte* data, size_t bytes);
  void handle_farewell(Rank from, bool failed, std::string_view why);
  const std::string& why_left(Rank rank) const { return left_[static_cast<size_t>(rank)]; }
  void write(Rank to, const Header& header, const Source& inlined = {});
  void ended(Piece& piece);
  void break_down(const std::string& why);
  std::exception_ptr broken_error() const;
  template <typename Visitor>
  void for_each_recv_from(Rank from, Visitor&& visit);

  // transport_send.cc
  void offer_to_self(Message& message);
  void handle_grant(uint64_t id);
  void handle_refuse(uint64_t id);
  void send_segments(Rank to);
  void segment_left(Piece& piece);
  void abandon_send(Message& message);
  void finish_send(Outgoing& outgoing);
  void fail_sends_to(Rank to);

  // transport_recv.cc
  Lane& lane(Rank from, uint32_t number) { return lanes_[{from, number}]; }
  void handle_offer(Rank from, Arrival arrival);
  void handle_withdraw(Rank from, const Header& header);
  void match(Message& message, Arrival& arrival);
  void receive_segments(Message& message, const Header& header);
  void post_segment(Incoming& incoming);
  void post(Incoming& incoming, Piece piece);
  void segment_landed(Piece& piece);
  void end_if_complete(Incoming& incoming);
  void abandon_recv(Message& message);

  /// Segments of messages between this rank and that one have this size.
  size_t segment_bytes(Rank peer) const;
  int tag_of(uint64_t id) const {
    return 1 + static_cast<int>(id % static_cast<uint64_t>(highest_tag_));
  }

  MpiWorld& world_;
  const MpiLibrary& mpi_;
  const SyrtosMpiHandle comm_;
  const int highest_tag_;
  std::optional<std::string> broken_;
  std::vector<std::string> left_;  // each rank, and why; empty: it is here
  int still_here_ = 0;
  bool closed_ = false;  // the program has ended here

  // Headers arrive in these, one after the other.
  static constexpr size_t kSlots = 8;
  std::array<Buffer, kSlots> slots_;
  std::array<SyrtosMpiHandle, kSlots> slot_requests_{};
  size_t next_slot_ = 0;

  Buffers headers_;
  Buffers segments_;
  Pieces pieces_;
  uint64_t next_id_ = 0;
  std::map<uint64_t, Outgoing> outgoing_;
  std::vector<std::vector<Outgoing*>> granted_;  // to each rank, with bytes that have not begun
  std::vector<int> in_flight_;                   // segments to each rank
  std::map<std::pair<Rank, uint32_t>, Lane> lanes_;
  std::map<std::pair<Rank, uint64_t>, Incoming> incoming_;
  std::vector<AllReduce*> all_reduces_;
};

}  // namespace syrtos::world
