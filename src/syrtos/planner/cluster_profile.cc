#include "syrtos/planner/cluster_profile.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/base/files.h"
#include "syrtos/base/format.h"
#include "syrtos/base/toml.h"
#include "syrtos/planner/units.h"

namespace syrtos::planner {

namespace {

constexpr int kMostHosts = 100'000;

/// One file: its name goes before every error.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  ClusterProfile read(const toml::table& table) const {
    ClusterProfile cluster;
    if (const toml::node* line = table.get("cluster")) {
      if (!line->is_string()) fail(*line, "cluster", "\"16 hosts, 10 Gbit/s, 50 us\"");
      cluster = assumed_cluster(*line->value<std::string>());
    }
    for (const auto& [key, node] : table) {
      if (key == "cluster") continue;
      if (key == "all_at_once") {
        cluster.all_at_once = quantity(node, "all_at_once", parse_bandwidth, "\"8 Gbit/s\"");
      } else if (key == "spread") {
        cluster.spread = number(node, "spread");
      } else if (key == "uneven_sharing") {
        cluster.uneven_sharing = number(node, "uneven_sharing");
      } else if (key == "host" && node.is_array_of_tables()) {
        for (const toml::node& host : *node.as_array()) {
          cluster.hosts.push_back(read_host(*host.as_table()));
        }
      } else {
        fail_unknown(std::string(key.str()), node,
                     {"cluster", "all_at_once", "uneven_sharing", "spread", "host"});
      }
    }
    return cluster;
  }

 private:
  HostProfile read_host(const toml::table& table) const {
    HostProfile host;
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name == "name") {
        if (!node.is_string()) fail(node, name, "a text in quotes");
        host.name = *node.value<std::string>();
      } else if (name == "slots") {
        if (!node.is_integer()) fail(node, name, "a whole number");
        host.slots = static_cast<int>(std::clamp<int64_t>(*node.value<int64_t>(), -1, kMostHosts));
      } else if (name == "bandwidth") {
        host.bandwidth = quantity(node, name, parse_bandwidth, "\"940 Mbit/s\"");
      } else if (name == "latency") {
        host.latency = quantity(node, name, parse_duration, "\"60 us\"");
      } else if (name == "memory") {
        host.memory = quantity(node, name, parse_bytes, "\"16 GB\"");
      } else if (name == "memory_bandwidth") {
        host.memory_bandwidth = quantity(node, name, parse_bandwidth, "\"5 GB/s\"");
      } else if (name == "memory_latency") {
        host.memory_latency = quantity(node, name, parse_duration, "\"5 us\"");
      } else if (name == "cores") {
        host.cores = number(node, name);
      } else if (name == "core_seconds_per_gb") {
        host.core_s_per_gb = number(node, name);
      } else if (name == "speed") {
        host.speed = number(node, name);
      } else if (name == "jitter") {
        host.jitter = number(node, name);
      } else {
        fail_unknown(name, node,
                     {"name", "slots", "bandwidth", "latency", "memory", "memory_bandwidth",
                      "memory_latency", "cores", "core_seconds_per_gb", "speed", "jitter"});
      }
    }
    for (const char* needed : {"name", "bandwidth", "latency"}) {
      if (!table.contains(needed)) {
        fail_request("{}:{}: this host has no {}: add it, or measure with 'syrtos probe network'",
                     file_, table.source().begin.line, needed);
      }
    }
    return host;
  }

  double number(const toml::node& node, std::string_view key) const {
    const auto value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value)) fail(node, key, "a number");
    return *value;
  }

  double quantity(const toml::node& node, std::string_view key,
                  double (*parse)(std::string_view, std::string_view), const char* example) const {
    if (!node.is_string()) fail(node, key, example);
    return parse(*node.value<std::string>(),
                 fmt::format("{}:{}: {}", file_, node.source().begin.line, key));
  }

  [[noreturn]] void fail(const toml::node& node, std::string_view key,
                         std::string_view expected) const {
    std::ostringstream found;
    node.visit([&](const auto& value) { found << value; });
    fail_request("{}:{}: {}: expected {}, found {}", file_, node.source().begin.line, key, expected,
                 found.str());
  }

  [[noreturn]] void fail_unknown(const std::string& key, const toml::node& node,
                                 const std::vector<std::string>& known) const {
    fail_request("{}:{}: unknown key '{}'{}", file_, node.source().begin.line, key,
                 suggestion(key, known));
  }

  std::string file_;
};

}  // namespace

ClusterProfile read_cluster(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) {
    fail_request(
        "cannot read the cluster profile {}: make it with 'syrtos probe network --hosts FILE --to "
        "{}', or describe the cluster: \"16 hosts, 10 Gbit/s, 50 us\"",
        file.string(), file.string());
  }
  toml::table table;
  try {
    table = toml::parse(stream, file.string());
  } catch (const toml::parse_error& error) {
    fail_request("{}:{}: {}", file.string(), error.source().begin.line, error.description());
  }
  ClusterProfile cluster = Reader(file.string()).read(table);
  check(cluster, file.string());
  return cluster;
}

void write_cluster(const std::filesystem::path& file, const ClusterProfile& cluster) {
  std::string text =
      "# What plans are made from; every value can be edited.\n"
      "# bandwidth: what arrives, in each direction at once; latency: of a small message, one "
      "way;\n"
      "# core_seconds_per_gb: what moving bytes costs; speed: of computing, 1 where it was "
      "measured;\n"
      "# jitter: relative standard deviation of a step's computing time.\n";
  text += fmt::format("spread = {:.3g}  # relative uncertainty of bandwidth and latency\n",
                      cluster.spread);
  if (cluster.all_at_once > 0) {
    text += fmt::format("all_at_once = \"{}\"  # all hosts together, when all send at once\n",
                        format_bandwidth(cluster.all_at_once));
  }
  if (cluster.uneven_sharing >= 0) {
    text += fmt::format("uneven_sharing = {:.3g}  # of a link, by several streams; 0: equally\n",
                        cluster.uneven_sharing);
  }
  for (const HostProfile& host : cluster.hosts) {
    text += fmt::format("\n[[host]]\nname = {}\nslots = {}\nbandwidth = \"{}\"\n",
                        toml_value(host.name), host.slots, format_bandwidth(host.bandwidth));
    text += fmt::format("latency = \"{}\"\n", format_short_time(host.latency));
    if (host.cores > 0) text += fmt::format("cores = {}\n", host.cores);
    text += fmt::format("core_seconds_per_gb = {:.3g}\nspeed = {:.3g}\njitter = {:.3g}\n",
                        host.core_s_per_gb, host.speed, host.jitter);
    if (host.memory > 0) text += fmt::format("memory = \"{:.3g} GB\"\n", host.memory / 1e9);
    text += fmt::format("memory_bandwidth = \"{:.3g} GB/s\"\nmemory_latency = \"{}\"\n",
                        host.memory_bandwidth / 1e9, format_short_time(host.memory_latency));
  }
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

bool is_in_words(std::string_view text) {
  const size_t first = text.find_first_not_of(' ');
  const bool begins_with_number = first != text.npos && text[first] >= '0' && text[first] <= '9';
  std::error_code ignored;
  return begins_with_number && !std::filesystem::exists(text, ignored);
}

ClusterProfile cluster_of(std::string_view text) {
  return is_in_words(text) ? assumed_cluster(text) : read_cluster(text);
}

void check(const ClusterProfile& cluster, std::string_view where) {
  const auto expect = [&](bool good, const std::string& whose, std::string_view what,
                          double found) {
    if (!good) fail_request("{}: {}: expected {}, found {}", where, whose, what, found);
  };
  if (cluster.hosts.empty()) fail_request("{}: expected at least one host, found none", where);
  if (cluster.hosts.size() > kMostHosts) {
    fail_request("{}: expected at most {} hosts, found {}", where, kMostHosts,
                 cluster.hosts.size());
  }
  expect(cluster.spread >= 0 && cluster.spread < 1, "spread", "0 to below 1", cluster.spread);
  expect(cluster.uneven_sharing < 3, "uneven_sharing", "0 to below 3", cluster.uneven_sharing);
  expect(cluster.all_at_once >= 0, "all_at_once", "a bandwidth above 0", cluster.all_at_once);
  std::set<std::string> names;
  for (const HostProfile& host : cluster.hosts) {
    if (!names.insert(host.name).second) {
      fail_request("{}: host {} is there twice", where, host.name);
    }
    expect(host.slots >= 1, host.name, "1 slot or more", host.slots);
    expect(host.bandwidth > 0, host.name, "a bandwidth above 0", host.bandwidth);
    expect(host.latency > 0 && host.latency < 60, host.name, "a latency above 0 and below 60 s",
           host.latency);
    expect(host.cores >= 0, host.name, "cores above 0", host.cores);
    expect(host.core_s_per_gb >= 0, host.name, "0 or more core_seconds_per_gb", host.core_s_per_gb);
    expect(host.speed > 0, host.name, "a speed above 0", host.speed);
    expect(host.jitter >= 0 && host.jitter < 1, host.name, "a jitter from 0 to below 1",
           host.jitter);
    expect(host.memory >= 0, host.name, "memory above 0", host.memory);
    expect(host.memory_bandwidth > 0, host.name, "a memory_bandwidth above 0",
           host.memory_bandwidth);
    expect(host.memory_latency >= 0, host.name, "a memory_latency of 0 or more",
           host.memory_latency);
  }
}

}  // namespace syrtos::planner
