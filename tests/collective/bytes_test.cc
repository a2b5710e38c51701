#include "syrtos/collective/bytes.h"

#include <gmock/gmock.h>

#include "syrtos/collective/collective.h"
#include "syrtos/collective/measure.h"
#include "syrtos/world/local/local.h"

namespace syrtos::collective {
namespace {

using world::LocalCluster;
using world::Purpose;
using world::Tag;
using world::Task;
using world::World;

constexpr Tag kTag{Purpose::control, 7, 3};

/// Another text of another length on each rank, empty on rank 1.
std::string text_of_rank(int rank) {
  return rank == 1 ? "" : std::string(static_cast<size_t>(3 * rank + 1), char('a' + rank));
}

Task<> broadcast_memory(World& world, size_t bytes, int root) {
  const Group group = Group::all(world);
  std::vector<uint8_t> memory(bytes);
  for (size_t i = 0; i < bytes; ++i) memory[i] = static_cast<uint8_t>(i * 7 + world.rank());
  co_await broadcast(world, group, memory.data(), bytes, root, kTag);
  size_t wrong = 0;
  for (size_t i = 0; i < bytes; ++i) wrong += memory[i] != static_cast<uint8_t>(i * 7 + root);
  EXPECT_EQ(wrong, 0U) << world.rank();
}

TEST(Broadcast, BringsTheRootsMemoryToAll) {
  for (const int ranks : {1, 2, 3, 6, 8}) {
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{1001}, size_t{3} << 20}) {
      for (const int root : {0, ranks - 1}) {
        LocalCluster cluster(ranks);
        run_all(cluster, [&](World& world) { return broadcast_memory(world, bytes, root); });
      }
    }
  }
}

Task<> broadcast_text(World& world, int root) {
  const Group group = Group::all(world);
  Bytes bytes = to_bytes(text_of_rank(world.rank()));
  bytes = co_await broadcast_bytes(world, group, std::move(bytes), root, kTag);
  EXPECT_EQ(to_text(bytes), text_of_rank(root));
}

TEST(BroadcastBytes, OnlyTheRootKnowsTheSize) {
  for (const int ranks : {2, 5}) {
    for (const int root : {0, 1}) {
      LocalCluster cluster(ranks);
      run_all(cluster, [&](World& world) { return broadcast_text(world, root); });
    }
  }
}

Task<> gather_text(World& world, int root) {
  const Group group = Group::all(world);
  const std::vector<Bytes> parts =
      co_await gather_bytes(world, group, to_bytes(text_of_rank(world.rank())), root, kTag);
  EXPECT_EQ(parts.size(), static_cast<size_t>(world.rank() == root ? world.size() : 0));
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    EXPECT_EQ(to_text(parts[rank]), text_of_rank(static_cast<int>(rank)));
  }
}

TEST(GatherBytes, TheRootGetsWhatEachHas) {
  for (const int ranks : {1, 2, 5}) {
    for (const int root : {0, ranks - 1}) {
      LocalCluster cluster(ranks);
      run_all(cluster, [&](World& world) { return gather_text(world, root); });
    }
  }
}

Task<> all_gather_text(World& world, size_t times) {
  const Group group = Group::all(world);
  Bytes mine;
  for (size_t i = 0; i < times; ++i) {
    const Bytes more = to_bytes(text_of_rank(world.rank()));
    mine.insert(mine.end(), more.begin(), more.end());
  }
  const std::vector<Bytes> parts = co_await all_gather_bytes(world, group, std::move(mine), kTag);
  EXPECT_EQ(parts.size(), static_cast<size_t>(world.size()));
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    const std::string expected = text_of_rank(static_cast<int>(rank));
    EXPECT_EQ(parts[rank].size(), times * expected.size());
    if (times == 0) continue;
    EXPECT_THAT(to_text(parts[rank]), testing::StartsWith(expected));
    EXPECT_THAT(to_text(parts[rank]), testing::EndsWith(expected));
  }
}

TEST(AllGatherBytes, EveryoneGetsWhatEachHas) {
  for (const int ranks : {1, 2, 5, 8}) {
    for (const size_t times : {0, 1, 5000}) {
      LocalCluster cluster(ranks);
      run_all(cluster, [&](World& world) { return all_gather_text(world, times); });
    }
  }
}

Task<> tell_too_much(World& world) {
  const Group group = Group::all(world);
  if (world.rank() == 0) {
    uint64_t size = uint64_t{1} << 40;
    co_await broadcast(world, group, &size, sizeof(size), 0, kTag);
  } else {
    co_await broadcast_bytes(world, group, {}, 0, kTag);
  }
}

TEST(BroadcastBytes, NobodyTakesMemoryForWhateverIsSaid) {
  LocalCluster cluster(2);
  const std::vector<std::exception_ptr> errors = cluster.run(tell_too_much);
  ASSERT_TRUE(errors[1]);
  try {
    std::rethrow_exception(errors[1]);
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 0 on"));
    EXPECT_THAT(error.what(), testing::HasSubstr("found 1099511627776"));
  }
}

/// Rank 0 tells the others of sizes that are not theirs.
Task<> lie_about_sizes(World& world) {
  const Group group = Group::all(world);
  if (world.rank() == 0) {
    std::vector<size_t> sizes(2, 8);
    const std::vector<size_t> each(2, sizeof(size_t));
    const size_t mine = 8;
    co_await gather(world, group, &mine, sizes.data(), each, 0, kTag);
    sizes[1] = 4;
    co_await broadcast(world, group, sizes.data(), sizes.size() * sizeof(size_t), 0, kTag);
  } else {
    co_await all_gather_bytes(world, group, Bytes(100'000), kTag);
  }
}

TEST(AllGatherBytes, WhoIsExpectedToBringSomethingElseFails) {
  LocalCluster cluster(2);
  const std::vector<std::exception_ptr> errors = cluster.run(lie_about_sizes);
  ASSERT_TRUE(errors[1]);
  EXPECT_THROW(std::rethrow_exception(errors[1]), RunError);
}

Task<> note_barriers(World& world, std::vector<int>& came) {
  const Group group = Group::all(world);
  for (int round = 0; round < 5; ++round) {
    // Some come late: when nobody else can go on any more, so many times.
    const int late = (world.rank() + round) % world.size();
    for (int i = 0; i < late; ++i) co_await world.sleep(0);
    ++came[static_cast<size_t>(world.rank())];
    co_await barrier(world, group, {Purpose::barrier, 0, static_cast<uint32_t>(round)});
    for (const int times : came) EXPECT_GT(times, round);
  }
}

TEST(Barrier, NobodyGoesOnBeforeAllHaveCome) {
  for (const int ranks : {1, 2, 5, 8}) {
    std::vector<int> came(static_cast<size_t>(ranks), 0);
    LocalCluster cluster(ranks);
    run_all(cluster, [&](World& world) { return note_barriers(world, came); });
    for (const int times : came) EXPECT_EQ(times, 5);
  }
}

Task<> measure(World& world, const Group& group, std::vector<LinkSpeed>& found) {
  found[static_cast<size_t>(world.rank())] = co_await measure_link(world, group);
}

TEST(MeasureLink, GivesAllMembersTheSameAnswer) {
  for (const std::vector<int>& host :
       {std::vector<int>{0, 0, 1}, std::vector<int>{0, 0, 0}, std::vector<int>{0, 1, 2, 3}}) {
    const Group group = Group::on_hosts(host);
    std::vector<LinkSpeed> found(host.size());
    LocalCluster cluster(group.size());
    run_all(cluster, [&](World& world) { return measure(world, group, found); });
    for (const LinkSpeed& speed : found) {
      EXPECT_GE(speed.latency_s, 0);
      EXPECT_GT(speed.bytes_per_s, 0);
      EXPECT_EQ(speed.latency_s, found[0].latency_s);
      EXPECT_EQ(speed.bytes_per_s, found[0].bytes_per_s);
    }
  }
}

}  // namespace
}  // namespace syrtos::collective
