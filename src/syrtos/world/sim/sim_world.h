#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "syrtos/world/sim/channel.h"
#include "syrtos/world/sim/processor.h"
#include "syrtos/world/sim/simulation.h"
#include "syrtos/world/world.h"

namespace syrtos::world {

/// One rank of a simulated cluster.
///
/// While it computes with Where::here, flows that run go on, as they do in the buffers of an
/// operating system; but nothing new starts, and what comes to an end is noticed afterwards.
class SimWorld final : public World {
 public:
  SimWorld(Simulation& simulation, std::vector<SimWorld*>& worlds, Rank rank,
           std::vector<std::string> hosts);

  double now() const override { return simulation_.now; }
  bool carries_data() const override { return simulation_.options.carry_data; }
  bool is_lost(Rank rank) const override;

  int host_index() const { return host_; }
  bool ended() const { return !ended_.empty(); }
  double ended_at() const { return ended_at_; }
  void end(std::string_view why);
  /// Forgets the end and every message.
  void clear();

  // For its channels.
  void complete(Operation& operation);
  void fail(Operation& operation, std::exception_ptr error);
  std::exception_ptr lost(const Message& message) const;
  std::exception_ptr other(const Message& expected, const Parcel& found) const {
    return mismatch(expected, found.tag, found.bytes);
  }
  /// One flow more, or less, begins or ends here.
  void moves(int change);
  void count_sent(size_t bytes);
  void count_received(size_t bytes);

 protected:
  void start_send(Message& message) override;
  void start_recv(Message& message) override;
  void start_compute(Compute& compute) override;
  void abandon(Message& message) override;
  void abandon(Compute& compute) override;

 private:
  struct Computing final : Load {
    explicit Computing(SimWorld& owner) : world(owner) {}
    void done() override { world.worked(*this); }
    SimWorld& world;
    Compute* compute = nullptr;  // none: it was abandoned; its time passes all the same
  };

  /// The channels to the others, or from them; most ranks use the same one again.
  struct Channels {
    std::vector<Channel*> all;  // as they came to be
    std::unordered_map<Rank, Channel*> of_rank;
    Rank latest_rank = -1;
    Channel* latest = nullptr;
  };
  Channel& channel(Channels& channels, Rank peer, bool outwards);

  bool hold(Operation& operation);
  void let_go();
  void begin(Computing& work, Compute& compute, double cores);
  void next_of_pool();
  void worked(Computing& work);
  std::exception_ptr run(const Compute& compute) const;

  Simulation& simulation_;
  std::vector<SimWorld*>& worlds_;
  const int host_;
  Processor& processor_;
  Channels out_;
  Channels in_;
  std::string ended_;  // why, when it has
  double ended_at_ = 0;
  int flows_ = 0;
  uint64_t works_ = 0;
  WaitList pool_;  // work that waits for its turn
  Computing in_pool_{*this};
  Computing here_{*this};
  WaitList to_start_;  // until the work here is done
  WaitList to_finish_;
};

}  // namespace syrtos::world
