#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <unordered_map>
#include <vector>

#include "syrtos/world/sim/network.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

class Channel;
class SimWorld;
class Simulation;
struct Lane;
struct Parcel;

struct ParcelLinks {
  Parcel* previous = nullptr;
  Parcel* next = nullptr;
};

/// A message from when it is sent until it is received.
struct Parcel final : SimEvent {
  void fire() override;  // it arrives

  Channel* channel = nullptr;
  Lane* lane = nullptr;
  Message* send = nullptr;  // until the last byte has left
  Tag tag = {};
  size_t bytes = 0;
  int priority = 0;
  double left = 0;  // bytes that have not left, while it does not flow
  bool arrived = false;
  std::vector<std::byte> data = {};  // since then, when data are carried
  ParcelLinks in_lane = {};
  ParcelLinks in_queue = {};
};

template <ParcelLinks Parcel::*Links>
class ParcelList {
 public:
  bool empty() const { return first_ == nullptr; }
  Parcel* first() const { return first_; }
  Parcel* last() const { return last_; }
  static Parcel* before(const Parcel& parcel) { return (parcel.*Links).previous; }

  /// Behind `place`, or first of all.
  void insert(Parcel& parcel, Parcel* place) {
    Parcel*& from_left = place != nullptr ? (place->*Links).next : first_;
    Parcel*& from_right = from_left != nullptr ? (from_left->*Links).previous : last_;
    parcel.*Links = {place, from_left};
    from_right = &parcel;
    from_left = &parcel;
  }
  void erase(Parcel& parcel) {
    const auto [previous, next] = parcel.*Links;
    (previous != nullptr ? (previous->*Links).next : first_) = next;
    (next != nullptr ? (next->*Links).previous : last_) = previous;
    parcel.*Links = {};
  }

 private:
  Parcel* first_ = nullptr;
  Parcel* last_ = nullptr;
};

/// Messages of one lane, in the order in which they were sent, and those who wait for them.
struct Lane {
  explicit Lane(uint32_t the_key) : key(the_key) {}
  const uint32_t key;
  ParcelList<&Parcel::in_lane> parcels;
  WaitList recvs;
};

/// The way from one rank to another. One message flows at a time: the first of those with the
/// highest priority, though none before those that were sent earlier in its lane. A higher one
/// interrupts it; what has left has left.
class Channel final : public Flow {
 public:
  Channel(Simulation& simulation, SimWorld& from, SimWorld& to);

  const SimWorld& from() const { return from_; }
  const SimWorld& to() const { return to_; }

  void send(Message& message);
  void recv(Message& message);
  void abandon(Message& message);
  void arrive(Parcel& parcel);
  /// Bytes of a message that have left.
  size_t moved(const Message& send) const;

  /// One of its ends is gone, or the network has changed.
  void check();

 private:
  struct Closing final : SimEvent {
    explicit Closing(Channel& owner) : channel(owner) {}
    void fire() override { channel.close(); }
    Channel& channel;
  };

  void sent() override;
  Lane& lane(uint32_t key);
  void enqueue(Parcel& parcel);
  void draw_weight();
  void pump();
  void halt();
  void drop(Parcel& parcel);
  void leave(Parcel& parcel);
  void deliver(Lane& lane);
  void receive(Message& recv, const Parcel& parcel);
  bool within_rank() const { return &from_ == &to_; }
  double lost_at() const;
  void watch_loss();
  void close();

  Simulation& simulation_;
  SimWorld& from_;
  SimWorld& to_;
  const double latency_;
  bool cut_ = false;
  double share_ = 0;  // logarithm of its weight, in standard deviations
  double drawn_at_ = 0;
  uint32_t shares_ = 0;        // that were drawn
  Parcel* sending_ = nullptr;  // the first of the queue, when the network lets it
  ParcelList<&Parcel::in_queue> queue_;
  std::deque<Lane> lanes_;  // as they came to be
  std::unordered_map<uint32_t, Lane*> lane_of_key_;
  Lane* latest_ = nullptr;
  double last_arrival_ = 0;
  Closing closing_{*this};
};

}  // namespace syrtos::world
