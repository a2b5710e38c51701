#include "syrtos/launch/lead.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "syrtos/launch/scheduler.h"

namespace syrtos::launch {

namespace {

constexpr int kTick = 50;                                   // milliseconds
constexpr auto kFarewell = std::chrono::seconds(10);        // for the others to leave
constexpr Clock::duration kRest = std::chrono::seconds(8);  // of it, for those that have come

std::vector<Placement> placements_of(const StartedRank& started, int servers) {
  std::vector<Placement> placements;
  for (Rank rank = 0; rank < started.ranks; ++rank) {
    placements.push_back(
        {.rank = rank, .role = rank < started.ranks - servers ? Role::worker : Role::server});
  }
  return placements;
}

}  // namespace

class Lead::Thread {
 public:
  Thread(const StartedRank& started, int servers, int patience, std::chrono::seconds timeout)
      : scheduler_(started.on_one_host ? kThisHost : "", static_cast<uint16_t>(started.port),
                   started.token, placements_of(started, servers),
                   {Host{.name = "a host not known yet"}}, patience),
        all_by_(Clock::now() + timeout),
        thread_(&Thread::run, this) {}

  ~Thread() {
    leave_by_ = (Clock::now() + kFarewell).time_since_epoch().count();
    thread_.join();
  }

  void end(const std::string& why) {
    const std::lock_guard lock(mutex_);
    if (ending_.empty()) ending_ = why;
  }

 private:
  void run() {
    bool servers_asked = false;
    while (!over()) {
      pollfd event{.fd = scheduler_.descriptor(), .events = POLLIN, .revents = 0};
      poll(&event, 1, kTick);
      scheduler_.step();
      look_for_refusals();
      if (const std::string why = ending(); !why.empty()) scheduler_.end(why);
      if (!servers_asked && scheduler_.all_joined() && workers_are_gone()) {
        servers_asked = true;
        scheduler_.stop();
      }
    }
  }

  std::string ending() {
    const std::lock_guard lock(mutex_);
    return ending_;
  }

  void look_for_refusals() {
    for (const Seat& seat : scheduler_.seats()) {
      if (!seat.refuses.empty()) end(fmt::format("{}: {}", seat.name(), seat.refuses));
    }
    if (!scheduler_.all_joined() && Clock::now() >= all_by_) end(missing());
  }

  std::string missing() const {
    std::vector<Rank> ranks;
    for (const Seat& seat : scheduler_.seats()) {
      if (seat.state == Seat::State::expected) ranks.push_back(seat.rank);
    }
    return fmt::format(
        "rank{} {} did not come: look at their output, or whether they reach this host",
        ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
  }

  static bool is_gone(const Seat& seat) {
    return seat.state == Seat::State::left || seat.state == Seat::State::lost;
  }

  bool workers_are_gone() const {
    return std::ranges::all_of(scheduler_.seats(), [](const Seat& seat) {
      return seat.role == Role::server || is_gone(seat);
    });
  }

  bool over() const {
    const Clock::rep by = leave_by_;
    if (by == 0) return false;
    if (Clock::now().time_since_epoch().count() >= by) return true;
    // Who has not come yet is told for a while why nobody is here.
    const bool waited = Clock::now().time_since_epoch().count() >= by - kRest.count();
    return std::ranges::all_of(scheduler_.seats(), [&](const Seat& seat) {
      return is_gone(seat) || (waited && seat.state == Seat::State::expected);
    });
  }

  Scheduler scheduler_;  // of the thread
  const Clock::time_point all_by_;
  std::atomic<Clock::rep> leave_by_ = 0;
  std::mutex mutex_;
  std::string ending_;
  std::thread thread_;
};

Lead::Lead(const StartedRank& started, int servers, int patience, std::chrono::seconds timeout)
    : thread_(std::make_unique<Thread>(started, servers, patience, timeout)) {}

void Lead::end(const std::string& why) { thread_->end(why); }

Lead::~Lead() = default;

}  // namespace syrtos::launch
