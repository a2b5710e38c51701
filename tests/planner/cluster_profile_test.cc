#include "syrtos/planner/cluster_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "syrtos/base/error.h"
#include "syrtos/planner/units.h"
#include "tests/support/temporary.h"

namespace syrtos::planner {
namespace {

using testing::HasSubstr;

TEST(Units, AreReadAsPeopleWriteThem) {
  EXPECT_DOUBLE_EQ(parse_bandwidth("1 Gbit/s", ""), 125e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("2.5Gbit/s", ""), 312.5e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("90 MB/s", ""), 90e6);
  EXPECT_DOUBLE_EQ(parse_bandwidth("10 GbE", ""), 1.25e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("1 gbps", ""), 125e6);
  EXPECT_DOUBLE_EQ(parse_duration("50 us", ""), 50e-6);
  EXPECT_DOUBLE_EQ(parse_bytes("16 GB", ""), 16e9);
  EXPECT_EQ(format_bandwidth(117.5e6), "940 Mbit/s");
  EXPECT_EQ(format_short_time(0.131), "131 ms");
}

TEST(AssumedCluster, IsReadAsPeopleWriteIt) {
  struct {
    const char* text;
    size_t hosts;
    double gbit;
    double latency;
  } const kLines[] = {{"4 hosts, 1 Gbps, 0.1 ms", 4, 1, 100e-6},
                      {"4 machines, 10 GbE", 4, 10, 60e-6},
                      {"8 nodes 25G", 8, 25, 60e-6},
                      {"8 nodes, 25Gbps, 30us", 8, 25, 30e-6},
                      {"16 hosts with 100 Mbit/s ethernet and 0.2 ms RTT", 16, 0.1, 100e-6},
                      {"2 servers @ 2.5 gbit/s, 50 µs latency", 2, 2.5, 50e-6},
                      {"1,000 hosts, 40 Gb/s, 5 usec", 1000, 40, 5e-6},
                      {"3 PCs, 10GBASE-T, 64 GB RAM, 8 cores", 3, 10, 60e-6},
                      {"10Gbit, 6 nodes", 6, 10, 60e-6},
                      {"4 x 1 GBps", 4, 8, 60e-6}};
  for (const auto& line : kLines) {
    const ClusterProfile cluster = assumed_cluster(line.text);
    EXPECT_EQ(cluster.hosts.size(), line.hosts) << line.text;
    EXPECT_NEAR(cluster.hosts[0].bandwidth, 0.949 * 125e6 * line.gbit, 1) << line.text;
    EXPECT_NEAR(cluster.hosts[0].latency, line.latency, 1e-9) << line.text;
    EXPECT_EQ(cluster_of(line.text).hosts.size(), line.hosts) << line.text;
  }
  const ClusterProfile cluster = assumed_cluster("3 PCs, 10 GbE, 64G RAM, 8 cores, 2 slots");
  EXPECT_DOUBLE_EQ(cluster.hosts[2].memory, 64e9);
  EXPECT_DOUBLE_EQ(cluster.hosts[2].cores, 8);
  EXPECT_EQ(cluster.hosts[2].slots, 2);
}

TEST(AssumedCluster, IsOneLine) {
  const ClusterProfile cluster = assumed_cluster("16 hosts, 10 Gbit/s, 50 us, 8 cores, 32 GB");
  ASSERT_EQ(cluster.hosts.size(), 16U);
  EXPECT_DOUBLE_EQ(cluster.hosts[15].bandwidth, 0.949 * 1.25e9);
  EXPECT_DOUBLE_EQ(cluster.hosts[0].latency, 50e-6);
  EXPECT_DOUBLE_EQ(cluster.hosts[0].cores, 8);
  EXPECT_DOUBLE_EQ(cluster.hosts[0].memory, 32e9);
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(AssumedCluster, WhatMakesNoSenseIsRefused) {
  for (const char* text :
       {"", "16", "16 hosts", "0 hosts, 1 Gbit/s", "-3 hosts, 1 Gbit/s", "4 hosts, 0 Gbit/s",
        "4 hosts, nan Gbit/s", "4 hosts, 1 Gbit/s, -5 us", "4 hosts, 1 Gbit/s, 0 us",
        "4 hosts, 1 Gbit/s, blue", "2.5 hosts, 1 Gbit/s", "4 hosts, 1 parsec/s",
        "4 hosts 1.2.3 Gbit/s", "4 hosts, 1 Gbit/s, 7"}) {
    EXPECT_NE(refusal([&] { assumed_cluster(text); }), "") << text;
  }
}

class ProfileFile : public TemporaryDirectory {
 protected:
  std::string refused(const std::string& text) {
    std::ofstream(file_) << text;
    return refusal([&] { read_cluster(file_); });
  }
  void SetUp() override {
    TemporaryDirectory::SetUp();
    file_ = directory_ / "cluster.toml";
  }
  std::filesystem::path file_;
};

TEST_F(ProfileFile, WhatIsWrittenIsRead) {
  ClusterProfile cluster = assumed_cluster("3 hosts, 1 Gbit/s, 60 us, 4 cores, 16 GB");
  cluster.hosts[1].speed = 0.5;
  cluster.hosts[2].jitter = 0.07;
  cluster.all_at_once = 250e6;
  cluster.spread = 0.1;
  cluster.uneven_sharing = 0.25;
  write_cluster(file_, cluster);
  const ClusterProfile read = read_cluster(file_);
  ASSERT_EQ(read.hosts.size(), 3U);
  EXPECT_NEAR(read.hosts[0].bandwidth, cluster.hosts[0].bandwidth, 1e6);
  EXPECT_DOUBLE_EQ(read.hosts[1].speed, 0.5);
  EXPECT_DOUBLE_EQ(read.hosts[2].jitter, 0.07);
  EXPECT_DOUBLE_EQ(read.hosts[2].memory, 16e9);
  EXPECT_DOUBLE_EQ(read.all_at_once, 250e6);
  EXPECT_DOUBLE_EQ(read.spread, 0.1);
  EXPECT_DOUBLE_EQ(read.uneven_sharing, 0.25);
}

TEST_F(ProfileFile, OneLineIsEnough) {
  std::ofstream(file_) << "cluster = \"4 hosts, 1 Gbit/s, 60 us\"\n";
  EXPECT_EQ(read_cluster(file_).hosts.size(), 4U);
  EXPECT_EQ(cluster_of(file_.string()).hosts.size(), 4U);
}

TEST_F(ProfileFile, MistakesAreNamedWithTheirLine) {
  const std::string host = "[[host]]\nname = \"a\"\nbandwidth = \"1 Gbit/s\"\n";
  EXPECT_THAT(refused(host), HasSubstr("cluster.toml:1: this host has no latency"));
  EXPECT_THAT(refused(host + "latency = \"fast\"\n"), HasSubstr(":4: latency: expected"));
  EXPECT_THAT(refused(host + "latency = 5\n"), HasSubstr(":4: latency: expected"));
  EXPECT_THAT(refused(host + "latency = \"50 us\"\nspeed = 0\n"), HasSubstr("speed above 0"));
  EXPECT_THAT(refused(host + "latency = \"50 us\"\nspeed = nan\n"), HasSubstr("a number"));
  EXPECT_THAT(refused(host + "latency = \"50 us\"\nsped = 1\n"), HasSubstr("did you mean 'speed'"));
  EXPECT_THAT(refused(host + "latency = \"50 us\"\nslots = 0\n"), HasSubstr("1 slot or more"));
  EXPECT_THAT(refused(host + "latency = \"50 us\"\n" + host + "latency = \"50 us\"\n"),
              HasSubstr("there twice"));
  EXPECT_THAT(refused("spread = 0.1\n"), HasSubstr("at least one host"));
  EXPECT_THAT(refused("[[host"), HasSubstr("cluster.toml:1"));
  EXPECT_THAT(refusal([] { read_cluster("/nowhere/c.toml"); }), HasSubstr("probe network"));
}

}  // namespace
}  // namespace syrtos::planner
