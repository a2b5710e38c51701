#include "syrtos/world/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "syrtos/world/started.h"

namespace syrtos::world {
namespace {

/// A rank alone that computes and does nothing else.
class Alone final : public World {
 public:
  Alone() : World(0, {"here"}, agenda_) {}
  double now() const override { return 0; }
  bool is_lost(Rank) const override { return false; }

  /// Lets coroutines go on until the condition holds.
  template <typename Condition>
  void run_until(Condition condition) {
    while (!condition()) {
      queue.wait_until(Clock::now() + std::chrono::seconds(60));
      queue.collect();
      agenda_.run_ready();
    }
  }

  WorkQueue queue;

 protected:
  void start_send(Message&) override {}
  void start_recv(Message&) override {}
  void start_compute(Compute& compute) override { queue.put(compute); }
  void abandon(Message&) override {}
  void abandon(Compute& compute) override { queue.drop(compute); }

 private:
  Agenda agenda_;
};

/// The computing thread.
class Server {
 public:
  explicit Server(WorkQueue& queue) : queue_(queue), thread_([&queue] { queue.serve(); }) {}
  ~Server() {
    queue_.close();
    thread_.join();
  }

 private:
  WorkQueue& queue_;
  std::thread thread_;
};

Task<> compute_one(World& world, std::vector<int>& order, int number) {
  co_await world.compute(0, [&order, number] {
    order.push_back(number);
    if (number == 3) throw std::runtime_error("on purpose");
  });
}

TEST(WorkQueue, DoesOnePieceAfterTheOtherAndBringsErrorsBack) {
  Alone world;
  const Server server(world.queue);
  std::vector<int> order;
  std::vector<Started> tasks;
  for (int i = 0; i < 10; ++i) tasks.emplace_back(world, compute_one(world, order, i));
  world.run_until([&] { return tasks.back().done(); });
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(tasks[i].error() != nullptr, i == 3) << i;
  EXPECT_FALSE(world.queue.busy());
}

struct Gate {
  std::atomic<bool> begun = false;
  std::atomic<bool> open = false;
  std::atomic<bool> ended = false;
};

Task<> compute_behind(World& world, Gate& gate) {
  co_await world.compute(0, [&gate] {
    gate.begun = true;
    gate.begun.notify_all();
    gate.open.wait(false);
    gate.ended = true;
  });
}

TEST(WorkQueue, WorkThatHasBegunIsWaitedForWhenItIsDropped) {
  Alone world;
  const Server server(world.queue);
  Gate gate;
  Started task(world, compute_behind(world, gate));
  gate.begun.wait(false);
  std::thread opener([&] {
    gate.open = true;
    gate.open.notify_all();
  });
  task.cancel();
  EXPECT_TRUE(gate.ended);
  opener.join();
  EXPECT_FALSE(world.queue.busy());
}

TEST(WorkQueue, WorkThatHasNotBegunIsNeverDoneOnceItIsDroppedOrTheQueueClosed) {
  Alone world;
  std::vector<int> order;
  Started dropped(world, compute_one(world, order, 1));
  Started left(world, compute_one(world, order, 2));
  dropped.cancel();
  world.queue.close();
  world.queue.serve();  // returns at once
  EXPECT_TRUE(order.empty());
}

}  // namespace
}  // namespace syrtos::world
