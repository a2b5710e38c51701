#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "tests/world/sim_programs.h"

// Random programs on random clusters with random faults: whatever arrives is right, whoever is not
// lost gets everything, and everybody comes to an end.

namespace syrtos::world {
namespace {

struct Letter {
  Rank from = 0;
  Rank to = 0;
  Tag tag = {};
  int priority = 0;
  double start = 0;
  std::vector<float> text;
  bool received = false;
};

using Post = std::vector<Letter>;

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  double up_to(double most) { return most * static_cast<double>(random_() % 1000) / 1000; }
  bool coin() { return below(2) == 0; }

 private:
  std::mt19937_64 random_;
};

SimOptions random_cluster(Dice& dice, uint64_t seed, bool with_losses) {
  SimOptions options = uniform_cluster(1 + dice.below(5), 1000 + dice.up_to(9000), dice.up_to(0.1));
  const int hosts = static_cast<int>(options.hosts.size());
  for (int rank = 0; rank < 2 + dice.below(5); ++rank) {
    options.host_of_rank.push_back(dice.below(hosts));
  }
  for (SimHost& host : options.hosts) {
    if (dice.coin()) host.cores = 1 + dice.below(4);
    if (dice.coin()) host.core_seconds_per_byte = dice.up_to(1e-3);
    host.jitter = dice.up_to(1);
    host.memory_bandwidth = 20'000;
  }
  if (hosts > 2 && dice.coin()) options.switches = {{.hosts = {0, 2}, .bandwidth = 2000}};
  options.seed = seed;
  options.faults.message_delay_max = dice.coin() ? dice.up_to(1) : 0;
  options.faults.loss = dice.coin() ? 0.01 : 0;
  for (int i = dice.below(3); i > 0; --i) {
    const double from = dice.up_to(3);
    options.faults.partitions.push_back({.hosts = {dice.below(hosts)},
                                         .from = from,
                                         .until = from + dice.up_to(with_losses ? 8 : 3)});
  }
  if (with_losses) {
    for (int i = dice.below(3); i > 0; --i) {
      const int ranks = static_cast<int>(options.host_of_rank.size());
      options.faults.crashes.push_back({.rank = dice.below(ranks), .at = dice.up_to(4)});
    }
  }
  return options;
}

Post random_post(Dice& dice, int ranks) {
  Post post(80);
  for (Letter& letter : post) {
    letter.from = dice.below(ranks);
    letter.to = dice.below(ranks);
    letter.tag.item = static_cast<uint16_t>(dice.below(3));
    letter.priority = dice.below(3);
    letter.start = dice.up_to(3);
    letter.text.resize(static_cast<size_t>(dice.coin() ? dice.below(3) : dice.below(500)));
    for (float& value : letter.text) value = static_cast<float>(dice.below(1000));
  }
  std::stable_sort(post.begin(), post.end(),
                   [](const Letter& a, const Letter& b) { return a.start < b.start; });
  std::map<std::tuple<Rank, Rank, uint16_t>, uint32_t> rounds;
  for (Letter& letter : post) {
    letter.tag.round = rounds[{letter.from, letter.to, letter.tag.item}]++;
  }
  return post;
}

Task<> send_letter(World& world, const Letter& letter) {
  co_await world.sleep(letter.start);
  const Source source{letter.text.data(), letter.text.size() * sizeof(float)};
  try {
    co_await world.send(letter.to, letter.tag, source, letter.priority);
  } catch (const PeerLost&) {
    EXPECT_TRUE(world.is_lost(letter.to));
  }
}

Task<> recv_letters(World& world, Post& post, Rank from, uint16_t item) {
  for (Letter& letter : post) {
    if (letter.to != world.rank() || letter.from != from || letter.tag.item != item) continue;
    std::vector<float> text(letter.text.size());
    const Target target{text.data(), text.size() * sizeof(float)};
    try {
      co_await world.recv(from, letter.tag, target);
    } catch (const PeerLost&) {
      EXPECT_TRUE(world.is_lost(from));
      co_return;
    }
    EXPECT_EQ(text, letter.text);
    letter.received = true;
  }
}

Task<> work_now_and_then(World& world) {
  for (int i = 0; i < 5; ++i) {
    co_await world.compute(0.2, {}, Where::pool);
    co_await world.compute(0.1, {}, Where::here);
  }
}

/// What nobody waits for until its end.
Task<> begin_in_vain(World& world) {
  const Rank other = (world.rank() + 1) % world.size();
  for (uint16_t i = 0; i < 5; ++i) {
    const Tag tag{Purpose::statistics, i, 0};
    Started sending(world, send_size(world, other, tag, 5000));
    Started receiving(world, recv_size(world, other, tag, 5000));
    Started working(world, work_now_and_then(world));
    co_await world.sleep(0.3);
  }
}

Task<> live(World& world, Post& post) {
  std::vector<Started> tasks;
  for (Rank from = 0; from < world.size(); ++from) {
    for (uint16_t item = 0; item < 3; ++item) {
      tasks.emplace_back(world, recv_letters(world, post, from, item));
    }
  }
  for (const Letter& letter : post) {
    if (letter.from == world.rank()) tasks.emplace_back(world, send_letter(world, letter));
  }
  tasks.emplace_back(world, work_now_and_then(world));
  Started vain(world, begin_in_vain(world));
  co_await join_all(world, tasks);
}

uint64_t live_through(uint64_t seed, bool with_losses) {
  Dice dice(seed);
  const SimOptions options = random_cluster(dice, seed, with_losses);
  SimCluster cluster(options);
  Post post = random_post(dice, cluster.size());
  const auto errors = cluster.run([&](World& world) { return live(world, post); });
  for (Rank rank = 0; rank < cluster.size(); ++rank) {
    const auto& error = errors[static_cast<size_t>(rank)];
    if (!error) continue;
    const auto& crashes = options.faults.crashes;
    EXPECT_TRUE(std::any_of(crashes.begin(), crashes.end(),
                            [=](const SimFaults::Crash& crash) { return crash.rank == rank; }))
        << "rank " << rank << " of seed " << seed;
    EXPECT_THROW(std::rethrow_exception(error), PeerLost) << "seed " << seed;
  }
  for (const Letter& letter : post) EXPECT_TRUE(letter.received || with_losses) << "seed " << seed;
  EXPECT_LT(cluster.now(), 200) << "seed " << seed;
  return cluster.statistics().trace;
}

TEST(SimDisasters, EverythingArrivesIfNobodyIsLost) {
  for (uint64_t seed = 1; seed <= 150; ++seed) live_through(seed, false);
}

TEST(SimDisasters, WhoeverIsLeftComesToAnEnd) {
  for (uint64_t seed = 1; seed <= 150; ++seed) live_through(seed, true);
}

TEST(SimDisasters, ASeedReproducesItsDisaster) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(live_through(seed, true), live_through(seed, true)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace syrtos::world
