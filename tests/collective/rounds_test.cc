#include "syrtos/collective/rounds.h"

#include <gmock/gmock.h>

#include <bit>

#include "tests/collective/simulation.h"

namespace syrtos::collective {
namespace {

constexpr int kMostMembers = 17;

Group flat(int members) { return Group::on_hosts(std::vector<int>(members, 0)); }

/// Host of each member, for so many members on each.
std::vector<int> on_hosts(const std::vector<int>& members) {
  std::vector<int> host;
  for (size_t h = 0; h < members.size(); ++h) host.insert(host.end(), members[h], int(h));
  return host;
}

template <typename Make>
std::vector<Rounds> rounds_of(int members, Make make) {
  std::vector<Rounds> each;
  for (int member = 0; member < members; ++member) each.push_back(make(member));
  return each;
}

std::vector<Words> all_words(int members, size_t elements) {
  std::vector<Words> values;
  for (int member = 0; member < members; ++member) values.push_back(words_of(member, elements));
  return values;
}

void expect_all_reduce(Algorithm algorithm, const Group& group, size_t elements) {
  const int n = group.size();
  SCOPED_TRACE(testing::Message() << to_string(algorithm) << ", " << n << " members, " << elements
                                  << " elements");
  const std::vector<Rounds> each = rounds_of(
      n, [&](int member) { return all_reduce_rounds(algorithm, member, group, elements); });
  for (int member = 0; member < n; ++member) {
    EXPECT_EQ(counted(each[member], 4), cost_all_reduce(algorithm, member, group, elements))
        << "member " << member;
  }
  Simulation simulation(each, all_words(n, elements));
  ASSERT_EQ(simulation.run(), "");
  const Words sum = sum_of_words(n, elements);
  for (int member = 0; member < n; ++member) EXPECT_EQ(simulation.values()[member], sum);
  if (n == 1) return;
  // Each sum is complete at one member first; doubling makes it at all that swap.
  const int at = algorithm == Algorithm::doubling ? int(std::bit_floor(unsigned(n))) : 1;
  std::vector<std::pair<size_t, uint64_t>> expected;
  for (size_t i = 0; i < elements; ++i) {
    for (int member = 0; member < at; ++member) expected.emplace_back(i, sum[i]);
  }
  EXPECT_EQ(simulation.settled(), expected);
}

TEST(AllReduceRounds, SumsEveryElementOnceOnEveryMemberAndCostsWhatTheFormulaSays) {
  for (const Algorithm algorithm :
       {Algorithm::ring, Algorithm::halving_doubling, Algorithm::doubling, Algorithm::tree,
        Algorithm::hierarchical}) {
    for (int n = 1; n <= kMostMembers; ++n) {
      for (const size_t elements : awkward_sizes(n))
        expect_all_reduce(algorithm, flat(n), elements);
    }
  }
}

TEST(AllReduceRounds, HierarchicalWorksOnEveryLayoutOfHosts) {
  const std::vector<std::vector<int>> layouts = {
      {2, 2},    {4, 4},          {3, 3, 3},    {2, 2, 2, 2}, {1, 2},          {3, 1, 2}, {5, 2, 7},
      {1, 1, 8}, {1, 1, 1, 1, 1}, {1, 1, 1, 1}, {8, 8},       {4, 3, 3, 3, 3}, {6}};
  for (const std::vector<int>& layout : layouts) {
    const Group group = Group::on_hosts(on_hosts(layout));
    for (const size_t elements : awkward_sizes(group.size())) {
      expect_all_reduce(Algorithm::hierarchical, group, elements);
    }
  }
  // Ranks dealt out to the hosts in turn.
  const Group dealt = Group::on_hosts({0, 1, 2, 0, 1, 2, 0, 1});
  for (const size_t elements : awkward_sizes(8)) {
    expect_all_reduce(Algorithm::hierarchical, dealt, elements);
  }
}

TEST(AllReduceRounds, RingAndHalvingDoublingSendTheLeastBytesThatArePossible) {
  for (int n = 2; n <= kMostMembers; ++n) {
    const size_t elements = 1000 * static_cast<size_t>(n);
    const size_t least = 2 * (elements - 1000) * 4;
    for (int member = 0; member < n; ++member) {
      for (const Algorithm algorithm : {Algorithm::ring, Algorithm::halving_doubling}) {
        EXPECT_EQ(cost_all_reduce(algorithm, member, flat(n), elements).bytes_sent, least);
      }
    }
  }
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::tree}) {
    EXPECT_EQ(cost_all_reduce(algorithm, 0, flat(16), 1024).rounds, 8U);
    EXPECT_EQ(cost_all_reduce(algorithm, 0, flat(17), 1024).rounds, 10U);
  }
  EXPECT_EQ(cost_all_reduce(Algorithm::ring, 0, flat(16), 1024).rounds, 30U);
  EXPECT_EQ(cost_all_reduce(Algorithm::doubling, 0, flat(16), 1024).rounds, 4U);
  EXPECT_EQ(cost_all_reduce(Algorithm::doubling, 0, flat(17), 1024).rounds, 6U);
}

TEST(AllReduceRounds, AHostSendsTheBufferToOthersOnlyAsOftenAsItMust) {
  const Group group = Group::on_hosts(on_hosts({4, 4, 4, 4}));
  const size_t elements = 1600;
  for (int host = 0; host < 4; ++host) {
    size_t leaving = 0;
    for (const int member : group.on_host(host)) {
      for (const Round& round :
           all_reduce_rounds(Algorithm::hierarchical, member, group, elements)) {
        for (const Transfer& transfer : round.transfers) {
          if (transfer.kind == Transfer::Kind::send && group.host_of(transfer.peer) != host) {
            leaving += transfer.count;
          }
        }
      }
    }
    EXPECT_EQ(leaving, 2 * 3 * elements / 4);
  }
}

TEST(AllReduceRounds, AutomaticAndNativeHaveNoRounds) {
  EXPECT_THROW(all_reduce_rounds(Algorithm::automatic, 0, flat(2), 10), RequestError);
  EXPECT_THROW(all_reduce_rounds(Algorithm::native, 0, flat(2), 10), RequestError);
  EXPECT_THROW(reduce_scatter_rounds(Algorithm::hierarchical, 0, flat(6), 10), RequestError);
  EXPECT_THROW(all_gather_rounds(Algorithm::tree, 0, flat(4), 10), RequestError);
}

constexpr Algorithm kHalves[] = {Algorithm::ring, Algorithm::halving_doubling};

TEST(ReduceScatterRounds, EachMemberEndsWithTheSumOfItsChunk) {
  for (int n = 1; n <= kMostMembers; ++n) {
    for (const size_t elements : awkward_sizes(n)) {
      for (const Algorithm algorithm : kHalves) {
        const Group group = flat(n);
        const std::vector<Rounds> each = rounds_of(
            n, [&](int m) { return reduce_scatter_rounds(algorithm, m, group, elements); });
        Simulation simulation(each, all_words(n, elements));
        ASSERT_EQ(simulation.run(), "");
        const Words sum = sum_of_words(n, elements);
        for (int member = 0; member < n; ++member) {
          const Range mine = chunk_of(elements, n, member);
          for (size_t i = mine.first; i < mine.end(); ++i) {
            ASSERT_EQ(simulation.values()[member][i], sum[i]);
          }
          EXPECT_EQ(counted(each[member], 4),
                    cost_reduce_scatter(algorithm, member, group, elements));
        }
      }
    }
  }
}

TEST(AllGatherRounds, EachMembersChunkComesToAll) {
  for (int n = 1; n <= kMostMembers; ++n) {
    for (const size_t elements : awkward_sizes(n)) {
      for (const Algorithm algorithm : kHalves) {
        const Group group = flat(n);
        const std::vector<Rounds> each =
            rounds_of(n, [&](int m) { return all_gather_rounds(algorithm, m, group, elements); });
        Words expected(elements);
        for (int member = 0; member < n; ++member) {
          const Range chunk = chunk_of(elements, n, member);
          for (size_t i = chunk.first; i < chunk.end(); ++i) expected[i] = word(member, i);
          EXPECT_EQ(counted(each[member], 4), cost_all_gather(algorithm, member, group, elements));
        }
        Simulation simulation(each, all_words(n, elements));
        ASSERT_EQ(simulation.run(), "");
        for (const Words& values : simulation.values()) EXPECT_EQ(values, expected);
      }
    }
  }
}

TEST(AllGatherRounds, MembersMayBringAnyNumberOfElements) {
  for (const std::vector<size_t>& sizes :
       {std::vector<size_t>{3}, {3, 0}, {0, 0, 5}, {1, 2, 3, 4}, {7, 0, 0, 1, 9}}) {
    const int n = static_cast<int>(sizes.size());
    const std::vector<Rounds> each =
        rounds_of(n, [&](int m) { return all_gather_rounds(m, sizes); });
    Words expected;
    for (int member = 0; member < n; ++member) {
      for (size_t i = 0; i < sizes[member]; ++i) {
        expected.push_back(word(member, expected.size()));
      }
      EXPECT_EQ(counted(each[member], 1), cost_all_gather(member, sizes, 1));
    }
    Simulation simulation(each, all_words(n, expected.size()));
    ASSERT_EQ(simulation.run(), "");
    for (const Words& values : simulation.values()) EXPECT_EQ(values, expected);
  }
}

void expect_broadcast(Algorithm algorithm, int n, int root, size_t elements, int pieces) {
  const std::vector<Rounds> each = rounds_of(
      n, [&](int m) { return broadcast_rounds(algorithm, m, n, root, elements, pieces); });
  Simulation simulation(each, all_words(n, elements));
  ASSERT_EQ(simulation.run(), "");
  for (int member = 0; member < n; ++member) {
    EXPECT_EQ(simulation.values()[member], words_of(root, elements));
    EXPECT_EQ(counted(each[member], 2),
              cost_broadcast(algorithm, member, n, root, elements, 2, pieces));
  }
}

TEST(BroadcastRounds, BringsTheRootsElementsToAll) {
  for (int n = 1; n <= kMostMembers; ++n) {
    for (const size_t elements : awkward_sizes(n)) {
      for (const int root : {0, n / 2, n - 1}) {
        expect_broadcast(Algorithm::tree, n, root, elements, 1);
        for (const int pieces : {1, 2, 5}) {
          expect_broadcast(Algorithm::ring, n, root, elements, pieces);
        }
      }
    }
  }
  EXPECT_THROW(broadcast_rounds(Algorithm::hierarchical, 0, 3, 0, 10), RequestError);
}

TEST(ReduceRounds, BringsTheSumToTheRoot) {
  for (int n = 1; n <= kMostMembers; ++n) {
    for (const size_t elements : awkward_sizes(n)) {
      for (const int root : {0, n / 2, n - 1}) {
        const std::vector<Rounds> each =
            rounds_of(n, [&](int m) { return reduce_rounds(m, n, root, elements); });
        Simulation simulation(each, all_words(n, elements));
        ASSERT_EQ(simulation.run(), "");
        EXPECT_EQ(simulation.values()[root], sum_of_words(n, elements));
        for (int member = 0; member < n; ++member) {
          EXPECT_EQ(counted(each[member], 4), cost_reduce(member, n, root, elements));
        }
      }
    }
  }
}

TEST(GatherRounds, TheRootReceivesFromAllThatHaveSomething) {
  const std::vector<size_t> sizes = {3, 0, 5, 2};
  const Rounds root = gather_rounds(2, 2, sizes);
  ASSERT_EQ(root.size(), 1U);
  EXPECT_THAT(root[0].transfers, testing::ElementsAre(Transfer{Transfer::Kind::receive, 0, 0, 3},
                                                      Transfer{Transfer::Kind::receive, 3, 8, 2}));
  EXPECT_THAT(gather_rounds(3, 2, sizes)[0].transfers,
              testing::ElementsAre(Transfer{Transfer::Kind::send, 2, 0, 2}));
  EXPECT_THAT(gather_rounds(1, 2, sizes)[0].transfers, testing::IsEmpty());
  for (int member = 0; member < 4; ++member) {
    EXPECT_EQ(counted(gather_rounds(member, 2, sizes), 8), cost_gather(member, 2, sizes, 8));
  }
}

TEST(BarrierRounds, EachMemberHearsOfAllBeforeItGoesOn) {
  for (int n = 1; n <= kMostMembers; ++n) {
    const std::vector<Rounds> each = rounds_of(n, [&](int m) { return barrier_rounds(m, n); });
    Simulation simulation(each, all_words(n, 0));
    EXPECT_EQ(simulation.run(), "");
    // Who is known to whom: what a message's sender knew when its round began.
    std::vector<unsigned> known(n);
    for (int member = 0; member < n; ++member) known[member] = 1U << member;
    for (size_t round = 0; round < each[0].size(); ++round) {
      const std::vector<unsigned> before = known;
      for (int member = 0; member < n; ++member) {
        for (const Transfer& transfer : each[member][round].transfers) {
          if (transfer.kind == Transfer::Kind::receive) known[member] |= before[transfer.peer];
        }
      }
    }
    EXPECT_EQ(known, std::vector<unsigned>(n, (1U << n) - 1)) << n;
    for (int member = 0; member < n; ++member) {
      EXPECT_EQ(counted(each[member]), cost_barrier(n));
    }
  }
}

TEST(Simulation, FindsRoundsThatAreWrong) {
  const Transfer send{Transfer::Kind::send, 1, 0, 4};
  const Transfer receive{Transfer::Kind::receive, 0, 0, 4};
  Round sends, receives, receives_other;
  sends.transfers = {send};
  receives.transfers = {receive};
  receives_other.transfers = {receive};
  receives_other.transfers[0].count = 3;
  EXPECT_EQ(Simulation({{{sends}}, {{receives}}}, all_words(2, 4)).run(), "");
  EXPECT_EQ(Simulation({{{sends}}, {{receives_other}}}, all_words(2, 4)).run(),
            "a message of another size");
  EXPECT_EQ(Simulation({{{sends}}, {}}, all_words(2, 4)).run(), "member 0 is stuck in round 0");
}

}  // namespace
}  // namespace syrtos::collective
