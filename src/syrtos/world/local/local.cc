#include "syrtos/world/local/local.h"

#include <map>
#include <string>
#include <thread>

#include "syrtos/base/host_name.h"

namespace syrtos::world {

namespace {

std::vector<std::string> hosts_of(int ranks) {
  return std::vector<std::string>(static_cast<size_t>(ranks), host_name());
}

}  // namespace

/// Messages wait in the receiver's lanes for their other end.
class LocalWorld final : public World {
 public:
  LocalWorld(LocalCluster& cluster, Rank rank, int ranks)
      : World(rank, hosts_of(ranks), cluster.agenda_), cluster_(cluster) {}

  double now() const override { return seconds_since(cluster_.start_); }
  bool is_lost(Rank rank) const override { return !world(rank).ended_.empty(); }

  void end(std::string_view why) {
    ended_ = why;
    for (auto& [key, lane] : lanes_) fail_all(lane.sends);
    for (const auto& other : cluster_.worlds_) {
      for (auto& [key, lane] : other->lanes_) {
        if (key.first == rank()) other->fail_all(lane.recvs);
      }
    }
  }

 protected:
  void start_send(Message& message) override {
    LocalWorld& to = world(message.peer);
    if (!to.ended_.empty()) return message.fail(peer_lost(message, to.ended_));
    Lane& lane = to.lanes_[{rank(), message.tag.lane()}];
    if (lane.recvs.empty()) return lane.sends.push(message);
    deliver(message, static_cast<Message&>(lane.recvs.pop()), to);
  }

  void start_recv(Message& message) override {
    Lane& lane = lanes_[{message.peer, message.tag.lane()}];
    LocalWorld& from = world(message.peer);
    if (!lane.sends.empty()) {
      return from.deliver(static_cast<Message&>(lane.sends.pop()), message, *this);
    }
    if (!from.ended_.empty()) return message.fail(peer_lost(message, from.ended_));
    lane.recvs.push(message);
  }

  void start_compute(Compute& compute) override {
    try {
      compute.work();
      compute.finish();
    } catch (...) {
      compute.fail(std::current_exception());
    }
  }

  void abandon(Message& message) override { message.unlink(); }
  void abandon(Compute&) override {}

 private:
  struct Lane {
    WaitList sends;
    WaitList recvs;
  };

  LocalWorld& world(Rank rank) const { return *cluster_.worlds_[static_cast<size_t>(rank)]; }

  void deliver(Message& send, Message& recv, LocalWorld& to) {
    if (send.tag.round != recv.tag.round || send.bytes() != recv.bytes()) {
      recv.fail(to.mismatch(recv, send.tag, send.bytes()));
      return send.finish();
    }
    land(recv.target, 0, send.source.data, send.source.bytes);
    send.moved = recv.moved = send.bytes();
    if (&to != this) {
      count().messages_sent += 1;
      count().bytes_sent += send.bytes();
      to.count().messages_received += 1;
      to.count().bytes_received += send.bytes();
    }
    send.finish();
    recv.finish();
  }

  void fail_all(WaitList& messages) {
    while (!messages.empty()) {
      auto& message = static_cast<Message&>(messages.pop());
      message.fail(peer_lost(message, world(message.peer).ended_));
    }
  }

  LocalCluster& cluster_;
  std::string ended_;  // why, when it has
  std::map<std::pair<Rank, uint32_t>, Lane> lanes_;
};

struct LocalCluster::Member {
  Started task;
  bool over = true;
  std::exception_ptr error;
};

LocalCluster::LocalCluster(int ranks) {
  for (Rank rank = 0; rank < ranks; ++rank) {
    worlds_.push_back(std::make_unique<LocalWorld>(*this, rank, ranks));
  }
}

LocalCluster::~LocalCluster() = default;

World& LocalCluster::world(Rank rank) { return *worlds_[static_cast<size_t>(rank)]; }

void LocalCluster::end_rank(Rank rank, std::string_view why) {
  members_[static_cast<size_t>(rank)].over = true;
  worlds_[static_cast<size_t>(rank)]->end(why);
}

void LocalCluster::lose(Rank rank) {
  Member& member = members_[static_cast<size_t>(rank)];
  if (member.over) return;
  member.task.cancel();
  member.error = std::make_exception_ptr(PeerLost(rank, "it was lost on purpose"));
  end_rank(rank, "it was lost on purpose");
}

std::vector<std::exception_ptr> LocalCluster::run(const RankProgram& program) {
  members_.clear();
  members_.resize(worlds_.size());
  for (size_t rank = 0; rank < worlds_.size(); ++rank) {
    members_[rank].over = false;
    members_[rank].task = Started(*worlds_[rank], program(*worlds_[rank]));
  }
  while (step()) continue;
  std::vector<std::exception_ptr> errors;
  for (Member& member : members_) errors.push_back(member.error);
  members_.clear();
  return errors;
}

/// Waiting would not help: all that could set an event has ended or waits itself.
void LocalCluster::give_up() {
  constexpr const char* kWhy = "nobody can go on: every rank waits for an event that nobody sets";
  for (Rank rank = 0; rank < size(); ++rank) {
    Member& member = members_[static_cast<size_t>(rank)];
    if (member.over) continue;
    member.task.cancel();
    member.error = std::make_exception_ptr(DeadlinePassed(kWhy));
    end_rank(rank, kWhy);
  }
}

/// Runs what can run; false when every rank has ended.
bool LocalCluster::step() {
  agenda_.run_ready();
  bool any = false;
  for (Rank rank = 0; rank < size(); ++rank) {
    Member& member = members_[static_cast<size_t>(rank)];
    if (!member.over && member.task.done()) {
      member.error = member.task.error();
      end_rank(rank, member.error ? "it failed" : "it has ended");
    }
    any = any || !member.over;
  }
  if (!any) return false;
  if (!agenda_.ready.empty()) return true;
  if (agenda_.timers.empty()) {
    give_up();
    return true;
  }
  auto& next = static_cast<Operation&>(agenda_.timers.first());
  next.stop();
  if (auto* message = dynamic_cast<Message*>(&next)) {
    // Messages come from this thread alone, so waiting would not help.
    message->unlink();
    message->fail(std::make_exception_ptr(
        DeadlinePassed(fmt::format("nobody can go on: {} with rank {} does not come",
                                   to_string(message->tag), message->peer))));
    return true;
  }
  const auto moment = start_ + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(next.at()));
  std::this_thread::sleep_until(moment);
  next.expire();
  return true;
}

}  // namespace syrtos::world
