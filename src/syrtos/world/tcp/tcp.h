#pragma once

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/world/cluster.h"
#include "syrtos/world/socket.h"
#include "syrtos/world/started.h"
#include "syrtos/world/tcp/options.h"
#include "syrtos/world/work_queue.h"

namespace syrtos::world {

namespace tcp {
class Inbox;
class Peer;
class SharedMemory;
}  // namespace tcp

/// Ranks that are processes, over sockets. A thread of its own moves the bytes and runs the
/// coroutines; it also shows the others that this rank is alive, so work that runs there
/// (Where::here) must end well within their `lost_after`.
///
/// A message that comes before its recv is kept in memory of its own.
class TcpWorld final : public World {
 public:
  /// Blocks until all ranks are connected. Throws NotMet that names the ranks that did not come
  /// within `connect_timeout`.
  TcpWorld(TcpOptions options, Listener listener);
  ~TcpWorld() override;

  /// Runs the task on the world's thread; the calling thread meanwhile does the work of
  /// Where::pool. Ends with a good-bye to the others and throws what the task threw. Once.
  void run(Task<> main);
  void run(const RankProgram& program);

  double now() const override { return seconds_since(start_); }
  bool is_lost(Rank rank) const override;
  std::vector<LinkUse> links() const override;
  /// At most so many bytes of messages that came before their recvs were kept at a time.
  size_t most_kept() const { return most_kept_; }
  /// Large messages of this other rank, which is on the same machine, pass through common memory.
  bool shares_memory_with(Rank rank) const;

 protected:
  void start_send(Message& message) override;
  void start_recv(Message& message) override;
  void start_compute(Compute& compute) override;
  void abandon(Message& message) override;
  void abandon(Compute& compute) override;
  void give_up(Rank rank, const std::string& why) override;

 private:
  friend class tcp::Inbox;
  friend class tcp::Peer;

  tcp::Peer& peer(Rank rank) const { return *peers_[static_cast<size_t>(rank)]; }
  std::unique_ptr<tcp::SharedMemory> agree_with(Rank rank, int socket) const;
  void wake() const;

  // The world's thread.
  void work();
  void run_main(const RankProgram& program);
  void say_good_bye(bool failed);
  void step(double longest);
  void expire_timers();
  int take_events(double timeout);
  bool spin();
  bool fall_asleep();
  void beat();
  double beat_interval() const { return std::min(options_.heartbeat, options_.lost_after / 4); }
  struct Lane {
    WaitList sends;
    WaitList recvs;
  };
  void meet_self(Message& message);

  const TcpOptions options_;
  Clock::time_point start_ = Clock::now();
  Agenda agenda_;
  Descriptor epoll_;
  Descriptor wake_;
  std::vector<std::unique_ptr<tcp::Peer>> peers_;  // none for this rank
  std::unordered_map<uint32_t, Lane> to_self_;
  WorkQueue work_;
  size_t kept_ = 0;  // bytes of messages that came before their recvs
  size_t most_kept_ = 0;
  int sharing_ = 0;  // peers with common memory
  bool spins_ = false;
  int hurried_ = 0;  // times without asking the kernel
  double next_beat_ = 0;
  double last_beat_ = 0;

  // Between the caller of run() and the world's thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  const RankProgram* program_ = nullptr;
  bool used_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace syrtos::world
