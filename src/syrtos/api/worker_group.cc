#include "syrtos/api/worker_group.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "syrtos/api/rank.h"
#include "syrtos/api/started.h"
#include "syrtos/base/error.h"
#include "syrtos/launch/lead.h"
#include "syrtos/world/started.h"

namespace syrtos::api {

namespace {

using collective::Group;

constexpr auto kLook = std::chrono::milliseconds(50);  // between two looks at what may end it
// One worker may do something else for long; whether it is there is found out otherwise.
constexpr double kLongestWait = 24 * 3600;

/// `round` counts: workers that are not at the same place of their loops find out.
using Doing = std::function<world::Task<>(world::World&, const Group&, uint32_t round)>;
using world::Purpose;

}  // namespace

/// A thread lives in the world of the group, and does there what the group's owner asks for.
class WorkerGroup::Member {
 public:
  Member(const launch::StartedRank& started, Options options)
      : started_(started), options_(std::move(options)) {
    if (started.rank == 0) lead_.emplace(started, /*servers=*/0, options_.patience);
    thread_ = std::thread([this] { live(); });
    {
      std::unique_lock lock(mutex_);
      wait_until(lock, [this] { return ready_ || over_; });
      if (ready_) return;
    }
    thread_.join();
    std::rethrow_exception(error_);
  }

  ~Member() { leave(); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  const launch::StartedRank& started() const { return started_; }

  void start(Doing doing) {
    const std::lock_guard lock(mutex_);
    if (over_ || leaving_) fail_over();
    waiting_.push_back(std::move(doing));
    ++asked_;
    changed_.notify_all();
  }

  void finish() {
    std::unique_lock lock(mutex_);
    wait_until(lock, [this] { return done_ == asked_ || over_; });
    if (done_ == asked_) return;
    asked_ = done_;  // said once
    std::rethrow_exception(error_);
  }

  void run(Doing doing) {
    start(std::move(doing));
    finish();
  }

  void abandon() {
    cancelled_ = true;
    leave();
  }

  void leave() {
    {
      const std::lock_guard lock(mutex_);
      leaving_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    lead_.reset();
  }

 private:
  /// Asks on this thread, the owner's, whether to stop.
  template <typename Condition>
  void wait_until(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    while (!condition()) {
      if (changed_.wait_for(lock, kLook, condition)) return;
      if (cancelled_) continue;
      lock.unlock();
      cancelled_ = options_.should_stop();
      lock.lock();
    }
  }

  void live() {
    const auto should_stop = [this] { return cancelled_.load(); };
    try {
      const std::string leader = address_of_leader(started_, should_stop);
      launch::Invitation invitation =
          invitation_of(started_, leader, started_.ranks, options_.cores, options_.patience);
      invitation.encrypted = options_.encrypted;
      // Nothing ends the process: whoever waits for a lost worker learns it.
      JoinedRank self(std::move(invitation), started_.token, nullptr, should_stop);
      self.run([this](world::TcpWorld& world, launch::Membership&) {
        world.set_deadline(kLongestWait);
        world.run(live_in(world));
      });
    } catch (...) {
      error_ = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::make_exception_ptr(RunError("the group of workers has ended"));
    over_ = true;
    changed_.notify_all();
  }

  world::Task<> live_in(world::World& world) {
    const Group all = Group::all(world);
    co_await collective::barrier(world, all, {.purpose = Purpose::barrier});
    say_ready();
    world::Started serving(world, serve(world, all));
    while (!serving.done()) {
      co_await world.sleep(kCancelLook);
      if (!cancelled_) continue;
      serving.cancel();
      fail_run("stopped while the workers exchanged something");
    }
    co_await serving.join();
  }

  world::Task<> serve(world::World& world, const Group& all) {
    for (uint32_t round = 1;; ++round) {
      std::optional<Doing> doing;
      const auto take = [this, &doing] { doing = next(); };
      co_await world.compute(0, take);
      if (!doing) co_return;
      co_await (*doing)(world, all, round);
      say_done();
    }
  }

  /// Waits on this thread, which the world does not need meanwhile. None: it is time to leave.
  std::optional<Doing> next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty() || leaving_ || cancelled_; });
    if (waiting_.empty() || cancelled_) return std::nullopt;
    Doing doing = std::move(waiting_.front());
    waiting_.pop_front();
    return doing;
  }
  void say_done() {
    const std::lock_guard lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
  void say_ready() {
    const std::lock_guard lock(mutex_);
    ready_ = true;
    changed_.notify_all();
  }
  [[noreturn]] void fail_over() const {
    if (error_) std::rethrow_exception(error_);
    fail_run("the group of workers has been left: nothing can be exchanged any more");
  }

  static constexpr double kCancelLook = 0.05;  // seconds

  const launch::StartedRank started_;
  const Options options_;
  std::optional<launch::Lead> lead_;  // of rank 0
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Doing> waiting_;
  uint64_t asked_ = 0;
  uint64_t done_ = 0;
  bool ready_ = false;
  bool leaving_ = false;
  std::atomic<bool> cancelled_ = false;
  bool over_ = false;
  std::exception_ptr error_;  // written before over_
  std::thread thread_;
};

WorkerGroup::WorkerGroup() = default;

WorkerGroup::WorkerGroup(const launch::StartedRank& started, Options options)
    : member_(std::make_unique<Member>(started, std::move(options))) {}

WorkerGroup::~WorkerGroup() = default;

int WorkerGroup::rank() const { return member_ ? member_->started().rank : 0; }
int WorkerGroup::size() const { return member_ ? member_->started().ranks : 1; }
int WorkerGroup::here() const { return member_ ? member_->started().here : 1; }

void WorkerGroup::all_reduce(const collective::Values& values, collective::Reduction reduction) {
  start_all_reduce(values, reduction);
  finish();
}

void WorkerGroup::start_all_reduce(const collective::Values& values,
                                   collective::Reduction reduction) {
  if (!member_ || values.count == 0) return;
  member_->start([values, reduction](world::World& world, const Group& all, uint32_t round) {
    return collective::all_reduce(
        world, all, values,
        {.reduction = reduction, .tag = {.purpose = Purpose::all_reduce, .round = round}});
  });
}

void WorkerGroup::finish() {
  if (member_) member_->finish();
}

void WorkerGroup::broadcast(void* data, size_t bytes, int root) {
  if (root < 0 || root >= size()) {
    fail_request("root: expected a rank from 0 to {}, found {}", size() - 1, root);
  }
  if (!member_ || bytes == 0) return;
  member_->run([=](world::World& world, const Group& all, uint32_t round) {
    return collective::broadcast(world, all, data, bytes, root,
                                 {.purpose = Purpose::broadcast, .round = round});
  });
}

void WorkerGroup::barrier() {
  if (!member_) return;
  member_->run([](world::World& world, const Group& all, uint32_t round) {
    return collective::barrier(world, all, {.purpose = Purpose::barrier, .round = round});
  });
}

void WorkerGroup::leave() {
  if (member_) member_->leave();
}

void WorkerGroup::abandon() {
  if (member_) member_->abandon();
}

}  // namespace syrtos::api
