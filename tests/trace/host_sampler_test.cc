#include "syrtos/trace/host_sampler.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/support/temporary.h"

namespace syrtos::trace {
namespace {

using nlohmann::json;
using testing::Optional;
using testing::SizeIs;

TEST(HostReading, TakesCpuTicksFromProcStat) {
  EXPECT_THAT(
      parse_stat("cpu  100 20 30 4000 50 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nintr 5\n"),
      Optional(CpuTicks{.user = 120, .system = 43, .iowait = 50, .idle = 4000, .stolen = 8}));
  EXPECT_THAT(parse_stat("cpu 1 2 3 4"),
              Optional(CpuTicks{.user = 3, .system = 3, .iowait = 0, .idle = 4, .stolen = 0}));
  EXPECT_EQ(parse_stat("cpu 1 2 3\n"), std::nullopt);
  EXPECT_EQ(parse_stat("cpu0 1 2 3 4\n"), std::nullopt);
  EXPECT_EQ(parse_stat("cpu 1 -2 3 4\n"), std::nullopt);
  EXPECT_EQ(parse_stat("cpu 1 2 3 99999999999999999999\n"), std::nullopt);
  EXPECT_EQ(parse_stat(""), std::nullopt);
}

TEST(HostReading, TakesMemoryFromProcMeminfo) {
  EXPECT_THAT(parse_meminfo("MemTotal:       1000 kB\nMemFree:   100 kB\nMemAvailable:  400 kB\n"),
              Optional(Memory{1'024'000, 409'600}));
  EXPECT_EQ(parse_meminfo("MemTotal: 1000 kB\nMemAvailable: 400 kB")->used(), 614'400U);
  EXPECT_THAT(parse_meminfo("MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 20 kB\nCached: 30 kB\n"),
              Optional(Memory{1'024'000, 153'600}))
      << "an old kernel";
  EXPECT_EQ(parse_meminfo("MemTotal: 10 kB\nMemAvailable: 99 kB\n")->used(), 0U);
  EXPECT_EQ(parse_meminfo("MemTotal: lots kB\nMemAvailable: 99 kB\n"), std::nullopt);
  EXPECT_EQ(parse_meminfo("MemAvailable: 99 kB\n"), std::nullopt);
  EXPECT_EQ(parse_meminfo(""), std::nullopt);
}

TEST(HostReading, TakesBytesOfAllInterfacesButLoFromProcNetDev) {
  const std::string head =
      "Inter-|   Receive                                                |  Transmit\n"
      " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n";
  EXPECT_THAT(parse_net_dev(head + "    lo: 7000 1 0 0 0 0 0 0 7000 1 0 0 0 0 0 0\n"
                                   "  eth0: 100 1 0 0 0 0 0 0 20 1 0 0 0 0 0 0\n"
                                   "eth1:18446744073 1 0 0 0 0 0 0 3 1 0 0 0 0 0 0\n"
                                   "eth0:1: 5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n"
                                   "odd: 1 2 3\nnoise\n\n"),
              Optional(NetworkBytes{18'446'744'178, 29}));
  EXPECT_THAT(parse_net_dev(head), Optional(NetworkBytes{0, 0}));
  EXPECT_EQ(parse_net_dev(""), std::nullopt);
}

TEST(HostReading, TakesProcessesFromProcLoadavg) {
  EXPECT_THAT(parse_loadavg("0.20 0.18 0.12 3/80 11206\n"), Optional(Processes{3, 80}));
  EXPECT_EQ(parse_loadavg("0.20 0.18 0.12 380 11206\n"), std::nullopt);
  EXPECT_EQ(parse_loadavg("0.20 0.18 0.12 3/\n"), std::nullopt);
  EXPECT_EQ(parse_loadavg(""), std::nullopt);
}

TEST(HostReading, TakesThisProcessFromProcSelfStatWhateverItsName) {
  const std::string rest = " S 1 2 3 4 5 6 7 8 9 10 140 15 0 0 20 0 7 0 99 123456 777 18446744 1";
  EXPECT_THAT(parse_self_stat("42 (syrtos)" + rest), Optional(ProcessUse{155, 777}));
  EXPECT_THAT(parse_self_stat("42 (a b) 1 (c))" + rest), Optional(ProcessUse{155, 777}));
  EXPECT_EQ(parse_self_stat("42 (syrtos) S 1 2 3"), std::nullopt);
  EXPECT_EQ(parse_self_stat("42 syrtos S"), std::nullopt);
}

TEST(HostReading, OfThisHostHasEverything) {
  const HostReading reading = read_host("/proc", 5);
  EXPECT_EQ(reading.time, 5);
  ASSERT_TRUE(reading.cpu && reading.memory && reading.network && reading.processes &&
              reading.process);
  EXPECT_GT(reading.cpu->user + reading.cpu->idle, 0U);
  EXPECT_GT(reading.memory->used(), 0U);
  EXPECT_GT(reading.processes->total, 0U);
  EXPECT_GT(reading.process->pages, 0U);
}

HostReading sample_reading(int64_t seconds, uint64_t gained) {
  HostReading reading;
  reading.time = seconds * 1'000'000'000;
  reading.cpu = CpuTicks{gained * 10, gained * 20, gained * 5, gained * 60, gained * 5};
  reading.memory = Memory{1000, 300};
  reading.network = NetworkBytes{gained * 1000, gained * 500};
  reading.processes = Processes{3, 80};
  reading.process = ProcessUse{gained * 100, 7};
  return reading;
}

TEST(HostSample, HasSharesAndRatesBetweenTwoReadings) {
  const HostSample sample = sample_between(sample_reading(10, 1), sample_reading(14, 3), 100, 4096);
  EXPECT_EQ(sample.time, 14'000'000'000);
  EXPECT_EQ(sample.seconds, 4);
  EXPECT_DOUBLE_EQ(sample.user, 0.10);
  EXPECT_DOUBLE_EQ(sample.system, 0.20);
  EXPECT_DOUBLE_EQ(sample.iowait, 0.05);
  EXPECT_DOUBLE_EQ(sample.idle, 0.60);
  EXPECT_EQ(sample.memory_used, 700);
  EXPECT_EQ(sample.memory_available, 300);
  EXPECT_EQ(sample.network_in, 500);
  EXPECT_EQ(sample.network_out, 250);
  EXPECT_EQ(sample.running, 3);
  EXPECT_EQ(sample.processes, 80);
  EXPECT_EQ(sample.rss, 7 * 4096);
  EXPECT_EQ(sample.process_cpu, 0.5);
}

TEST(HostSample, CountsWhatWentBackAsStandingStill) {
  const HostSample sample = sample_between(sample_reading(0, 9), sample_reading(1, 2), 100, 4096);
  EXPECT_EQ(sample.network_in, 0);
  EXPECT_EQ(sample.process_cpu, 0);
  EXPECT_TRUE(std::isnan(sample.user)) << "no time passed: no shares";
  const HostSample at_once = sample_between(sample_reading(1, 1), sample_reading(1, 2), 100, 4096);
  EXPECT_TRUE(std::isnan(at_once.network_in));
}

TEST(HostSample, IsTheSameAfterJsonAndLeavesOutWhatIsNotKnown) {
  HostReading bare;
  bare.time = 15'000'000'000;
  const json poor = to_json(sample_between(sample_reading(10, 1), bare, 100, 4096));
  EXPECT_EQ(poor, (json{{"time", 15'000'000'000}, {"seconds", 5.0}}));
  EXPECT_TRUE(std::isnan(host_sample_from_json(poor).user));

  const json rich = to_json(sample_between(sample_reading(10, 1), sample_reading(14, 3), 100, 1));
  EXPECT_THAT(rich, SizeIs(14));
  EXPECT_EQ(to_json(host_sample_from_json(json::parse(rich.dump()))), rich);
}

TEST(HostSample, RefusesOtherJson) {
  for (const char* bad : {"[]", "{}", R"({"time":1.5})", R"({"time":1,"user":"x"})",
                          R"({"time":1,"users":3})", "null"}) {
    EXPECT_THROW(host_sample_from_json(json::parse(bad)), RequestError) << bad;
  }
}

/// A host of files, with a sampler that would read them once in a thousand hours.
class HostSamplers : public TemporaryDirectory {
 protected:
  static constexpr std::chrono::hours kNever{1000};

  void receive(uint64_t bytes) {
    received_ += bytes;
    std::filesystem::create_directories(directory_ / "net");
    write("net/dev", fmt::format("bytes\n eth0: {} 1 0 0 0 0 0 0 0 1 0\n", received_));
  }

  uint64_t received_ = 0;
};

TEST_F(HostSamplers, SampleAtBothEndsAndStopAtOnce) {
  receive(100);
  HostSampler sampler({.period = kNever, .proc = directory_});
  EXPECT_THAT(sampler.samples(), SizeIs(0)) << "one reading is no sample yet";
  receive(5000);
  sampler.stop();
  sampler.stop();
  const std::vector<HostSample> samples = sampler.samples();
  ASSERT_THAT(samples, SizeIs(1));
  EXPECT_NEAR(samples[0].network_in * samples[0].seconds, 5000, 1e-6);
  EXPECT_TRUE(std::isnan(samples[0].user)) << "this host does not tell";
}

TEST_F(HostSamplers, ThatAreFullThinOutAndKeepEveryByte) {
  receive(0);
  HostSampler sampler({.period = kNever, .capacity = 8, .proc = directory_});
  for (int i = 0; i < 1000; ++i) {
    receive(10);
    sampler.read_now();
    ASSERT_LE(sampler.samples().size(), 7U);
  }
  double bytes = 0;
  int64_t before = 0;
  for (const HostSample& sample : sampler.samples()) {
    bytes += sample.network_in * sample.seconds;
    EXPECT_GT(sample.time, before);
    before = sample.time;
  }
  EXPECT_NEAR(bytes, 10'000, 1e-3);
}

TEST_F(HostSamplers, SampleByThemselves) {
  HostSampler sampler({.period = std::chrono::microseconds(100)});
  while (sampler.samples().size() < 5) std::this_thread::yield();
  EXPECT_GT(sampler.samples().back().rss, 0);
}

}  // namespace
}  // namespace syrtos::trace
