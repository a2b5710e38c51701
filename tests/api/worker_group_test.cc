#include "syrtos/api/worker_group.h"

#include <gmock/gmock.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "syrtos/base/error.h"
#include "syrtos/world/socket.h"

namespace syrtos::api {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Work = std::function<void(WorkerGroup& group)>;

uint16_t free_port() { return world::Listener("127.0.0.1").port(); }

launch::StartedRank rank_of(int rank, int ranks, int port) {
  return {.by = "a test",
          .rank = rank,
          .ranks = ranks,
          .here = ranks,
          .leader = "127.0.0.1",
          .port = port,
          .token = "secret"};
}

/// A thread for each worker.
void with_workers(int workers, const Work& work) {
  const int port = free_port();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < workers; ++rank) {
    threads.emplace_back([&, rank] {
      WorkerGroup group(rank_of(rank, workers, port), {});
      work(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(WorkerGroup, AllHaveTheSumTheSmallestAndTheLargest) {
  for (const int workers : {2, 3}) {
    with_workers(workers, [&](WorkerGroup& group) {
      EXPECT_EQ(group.size(), workers);
      std::vector<float> values(70'000, static_cast<float>(group.rank() + 1));
      group.all_reduce({values.data(), values.size()});
      const int sum = workers * (workers + 1) / 2;
      EXPECT_THAT(values, Each(static_cast<float>(sum)));
      std::array<int64_t, 2> bounds = {group.rank(), -group.rank()};
      group.all_reduce({bounds.data(), bounds.size(), world::Element::i64}, world::Reduction::max);
      EXPECT_THAT(bounds, ElementsAre(workers - 1, 0));
    });
  }
}

TEST(WorkerGroup, SeveralCrossWhileSomethingElseIsDone) {
  with_workers(3, [](WorkerGroup& group) {
    std::array<std::vector<float>, 5> buckets;
    for (size_t i = 0; i < buckets.size(); ++i) {
      buckets[i].assign(1000 * (i + 1), static_cast<float>(i + 1));
      group.start_all_reduce({buckets[i].data(), buckets[i].size()});
    }
    group.finish();
    for (size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_THAT(buckets[i], Each(static_cast<float>(3 * (i + 1))));
    }
    group.finish();  // nothing is on its way
  });
}

TEST(WorkerGroup, WhatIsOnItsWayIsAbandonedWithTheGroup) {
  with_workers(2, [](WorkerGroup& group) {
    std::vector<float> values(1000, 1);
    if (group.rank() == 0) {  // the other one never comes to this
      group.start_all_reduce({values.data(), values.size()});
      group.abandon();
      EXPECT_THROW(group.barrier(), RunError);
    } else {
      EXPECT_THROW(group.barrier(), RunError);
    }
  });
}

TEST(WorkerGroup, AnyOfThemGivesToAll) {
  with_workers(3, [](WorkerGroup& group) {
    for (int root = 0; root < 3; ++root) {
      std::vector<int> values(100, group.rank());
      group.broadcast(values.data(), values.size() * sizeof(int), root);
      EXPECT_THAT(values, Each(root));
    }
    group.barrier();
  });
}

TEST(WorkerGroup, OneThatLeavesIsMissedByThoseThatStillExpectSomething) {
  with_workers(2, [](WorkerGroup& group) {
    double value = 1;
    group.all_reduce({&value, 1, world::Element::f64});
    EXPECT_EQ(value, 2);
    if (group.rank() == 1) return group.leave();
    EXPECT_THAT([&] { group.barrier(); }, ThrowsMessage<RunError>(HasSubstr("rank 1")));
    EXPECT_THROW(group.barrier(), RunError);
  });
}

TEST(WorkerGroup, WhoIsNotAtTheSamePlaceFindsOut) {
  with_workers(2, [](WorkerGroup& group) {
    std::vector<float> values(10);
    const size_t count = group.rank() == 0 ? 10 : 5;
    EXPECT_THROW(
        {
          group.all_reduce({values.data(), count});
          group.barrier();
        },
        RunError);
  });
}

TEST(WorkerGroup, AWaitIsEndedByWhoeverAsks) {
  std::atomic<bool> stops = false;
  const int port = free_port();
  std::thread other([&] {
    WorkerGroup group(rank_of(1, 2, port), {});
    EXPECT_THROW(group.barrier(), RunError);  // the other one has left
  });
  {
    WorkerGroup group(rank_of(0, 2, port), {.should_stop = [&] { return stops.load(); }});
    stops = true;
    double value = 0;
    EXPECT_THAT(
        [&] {
          group.all_reduce({&value, 1, world::Element::f64});
          group.all_reduce({&value, 1, world::Element::f64});
        },
        ThrowsMessage<RunError>(testing::Not(testing::IsEmpty())));
  }
  other.join();
}

TEST(WorkerGroup, OneAloneHasWhatItGives) {
  WorkerGroup group;
  EXPECT_EQ(group.size(), 1);
  float value = 3;
  group.all_reduce({&value, 1});
  group.broadcast(&value, sizeof value, 0);
  group.barrier();
  EXPECT_EQ(value, 3);
  EXPECT_THROW(group.broadcast(&value, sizeof value, 1), RequestError);
  group.leave();
}

}  // namespace
}  // namespace syrtos::api
