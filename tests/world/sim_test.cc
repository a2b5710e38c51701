#include "syrtos/world/sim/sim.h"

#include "tests/world/conformance.h"

namespace syrtos::world {
namespace {

std::unique_ptr<Cluster> gigabit(int ranks) {
  return std::make_unique<SimCluster>(uniform_cluster(ranks, 125e6, 50e-6));
}

/// All ranks on one host with two cores, which moving bytes needs as well.
std::unique_ptr<Cluster> one_host(int ranks) {
  SimOptions options = uniform_cluster(1, 125e6, 50e-6);
  options.host_of_rank.assign(static_cast<size_t>(ranks), 0);
  options.hosts[0].cores = 2;
  options.hosts[0].core_seconds_per_byte = 1e-9;
  return std::make_unique<SimCluster>(options);
}

/// Hosts that differ, behind two switches, with everything that may go wrong and does no harm.
std::unique_ptr<Cluster> troubled(int ranks) {
  SimOptions options = uniform_cluster(ranks, 125e6, 0);
  options.switches.resize(2);
  for (size_t i = 0; i < options.hosts.size(); ++i) {
    SimHost& host = options.hosts[i];
    host.speed = 1 + static_cast<double>(i);
    host.bandwidth /= 1 + static_cast<double>(i);
    host.jitter = 0.5;
    options.switches[i % 2].hosts.push_back(static_cast<int>(i));
  }
  options.message_overhead_bytes = 40;
  options.faults.message_delay_max = 0.01;
  options.faults.loss = 1e-3;
  options.faults.slow_probability = 0.1;
  options.faults.partitions = {{.hosts = {0}, .from = 0.001, .until = 1}};
  return std::make_unique<SimCluster>(options);
}

INSTANTIATE_TEST_SUITE_P(Sim, WorldConformance,
                         testing::Values(WorldKind{"gigabit", gigabit},
                                         WorldKind{"one_host", one_host},
                                         WorldKind{"troubled", troubled}),
                         [](const auto& kind) { return kind.param.name; });

TEST(SimCluster, WithoutDataOnlySizesTravelAndWorkIsNotRun) {
  SimOptions options = uniform_cluster(2, 125e6, 50e-6);
  options.carry_data = false;
  SimCluster cluster(options);
  EXPECT_FALSE(cluster.world(0).carries_data());
  std::vector<float> here(1000, 1);
  std::vector<float> there(1000, 2);
  run_all(cluster, [&](World& world) {
    return world.rank() == 0 ? send_values(world, 1, test_tag(), here)
                             : expect_values(world, 0, test_tag(), std::vector<float>(1000, 0));
  });
  bool ran = false;
  const auto work = [&] { ran = true; };
  struct Program {
    static Task<> compute(World& world, std::function<void()> work) {
      co_await world.compute(2, std::move(work));
    }
  };
  const double before = cluster.now();
  run_all(cluster, [&](World& world) { return Program::compute(world, work); });
  EXPECT_FALSE(ran);
  EXPECT_DOUBLE_EQ(cluster.now() - before, 2);
}

Task<> send_then_change(World& world) {
  std::vector<float> values = ramp(1000, 1);
  if (world.rank() == 0) {
    co_await world.send(1, test_tag(), source_of(values));
    values.assign(1000, -1);  // the message is still on its way
  } else {
    co_await world.sleep(1);
    co_await expect_values(world, 0, test_tag(), values);
  }
}

TEST(SimCluster, MemoryIsTheSendersAgainWhenItsSendIsDone) {
  const auto cluster = gigabit(2);
  run_all(*cluster, send_then_change);
}

TEST(SimCluster, TimeGoesOnFromRunToRun) {
  SimCluster cluster(uniform_cluster(3, 125e6, 50e-6));
  double before = 0;
  for (int run = 0; run < 3; ++run) {
    run_all(cluster, [](World& world) { return pass_around(world, 1000, 2); });
    EXPECT_NEAR(cluster.now() - before, 2 * (4000 / 125e6 + 50e-6), 1e-12);
    before = cluster.now();
  }
}

Task<> leave_a_message(World& world) {
  if (world.rank() == 0) co_await send_values(world, 1, test_tag(5, 1), ramp(10, 0));
}

TEST(SimCluster, MessagesThatNobodyReceivedEndWithTheirRun) {
  SimCluster cluster(uniform_cluster(2, 125e6, 50e-6));
  cluster.run(leave_a_message);  // rank 1 may be gone before it arrives
  run_all(cluster, [](World& world) {
    return world.rank() == 0 ? send_values(world, 1, test_tag(5, 2), ramp(10, 0))
                             : expect_values(world, 0, test_tag(5, 2), ramp(10, 0));
  });
}

TEST(SimCluster, ABadRequestSaysWhatWasExpected) {
  const auto text = [](const SimOptions& options) -> std::string {
    try {
      SimCluster cluster(options);
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(text({}).find("1 host or more"), std::string::npos);
  SimOptions options = uniform_cluster(2, 0, 0);
  EXPECT_NE(text(options).find("host 0: a bandwidth above 0 expected, found 0"), std::string::npos)
      << text(options);
  options = uniform_cluster(2, 1, 0);
  options.host_of_rank = {0, 2};
  EXPECT_NE(text(options).find("0 to 1 expected, found 2"), std::string::npos) << text(options);
  options = uniform_cluster(2, 1, 0);
  options.switches = {{.hosts = {0}}, {.hosts = {0}}};
  EXPECT_NE(text(options).find("behind two switches"), std::string::npos) << text(options);
}

}  // namespace
}  // namespace syrtos::world
