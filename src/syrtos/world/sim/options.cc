#include "syrtos/world/sim/options.h"

#include <numeric>

#include "syrtos/base/error.h"

namespace syrtos::world {

namespace {

void expect(bool good, std::string_view where, std::string_view what, double found) {
  if (!good) fail_request("simulated cluster: {}: {} expected, found {}", where, what, found);
}

void check(const SimHost& host) {
  expect(host.bandwidth > 0, host.name, "a bandwidth above 0", host.bandwidth);
  expect(host.memory_bandwidth > 0, host.name, "a memory bandwidth above 0", host.memory_bandwidth);
  expect(host.latency >= 0, host.name, "a latency of 0 or more", host.latency);
  expect(host.memory_latency >= 0, host.name, "a memory latency of 0 or more", host.memory_latency);
  expect(host.cores > 0, host.name, "cores above 0", host.cores);
  expect(host.compute_cores >= 0 && host.compute_cores <= host.cores, host.name,
         "compute cores from 0 to all", host.compute_cores);
  expect(host.core_seconds_per_byte >= 0, host.name, "core seconds per byte of 0 or more",
         host.core_seconds_per_byte);
  expect(host.speed > 0, host.name, "a speed above 0", host.speed);
  expect(host.jitter >= 0, host.name, "a jitter of 0 or more", host.jitter);
}

void check_index(int index, size_t size, std::string_view what) {
  if (index < 0 || static_cast<size_t>(index) >= size) {
    fail_request("simulated cluster: {} from 0 to {} expected, found {}", what, size - 1, index);
  }
}

void check_switches(const SimOptions& options) {
  std::vector<bool> taken(options.hosts.size());
  for (const SimSwitch& group : options.switches) {
    expect(group.bandwidth > 0, "switch", "a bandwidth above 0", group.bandwidth);
    expect(group.latency >= 0, "switch", "a latency of 0 or more", group.latency);
    for (const int host : group.hosts) {
      check_index(host, options.hosts.size(), "hosts of a switch");
      if (taken[static_cast<size_t>(host)]) {
        fail_request("simulated cluster: host {} is behind two switches", host);
      }
      taken[static_cast<size_t>(host)] = true;
    }
  }
}

void check_faults(const SimOptions& options) {
  const SimFaults& faults = options.faults;
  expect(faults.message_delay_max >= 0, "faults", "a delay of 0 or more", faults.message_delay_max);
  expect(faults.loss >= 0 && faults.loss < 1, "faults", "a loss from 0 to below 1", faults.loss);
  expect(faults.retransmit_after >= 0, "faults", "a retransmission after 0 s or more",
         faults.retransmit_after);
  expect(faults.slow_probability >= 0 && faults.slow_probability <= 1, "faults",
         "a probability from 0 to 1", faults.slow_probability);
  expect(faults.slow_factor > 0, "faults", "a factor above 0", faults.slow_factor);
  expect(faults.lost_after > 0, "faults", "a time above 0 after which a rank is lost",
         faults.lost_after);
  for (const SimFaults::Crash& crash : faults.crashes) {
    check_index(crash.rank, options.host_of_rank.size(), "ranks that crash");
  }
  for (const SimFaults::Partition& partition : faults.partitions) {
    expect(partition.until >= partition.from, "partition", "an end after its beginning",
           partition.until);
    for (const int host : partition.hosts) {
      check_index(host, options.hosts.size(), "hosts that are cut off");
    }
  }
}

}  // namespace

SimOptions uniform_cluster(int hosts, double bytes_per_s, double latency_s) {
  if (hosts < 1) fail_request("simulated cluster: 1 host or more expected, found {}", hosts);
  SimOptions options;
  SimHost host;
  host.bandwidth = bytes_per_s;
  host.latency = latency_s;
  options.hosts.assign(static_cast<size_t>(hosts), host);
  return options;
}

SimOptions completed(SimOptions options) {
  if (options.hosts.empty()) fail_request("simulated cluster: 1 host or more expected, found none");
  for (size_t i = 0; i < options.hosts.size(); ++i) {
    SimHost& host = options.hosts[i];
    if (host.name.empty()) host.name = fmt::format("host {}", i);
    check(host);
  }
  if (options.host_of_rank.empty()) {
    options.host_of_rank.resize(options.hosts.size());
    std::iota(options.host_of_rank.begin(), options.host_of_rank.end(), 0);
  }
  std::vector<int> ranks(options.hosts.size());
  for (const int host : options.host_of_rank) {
    check_index(host, options.hosts.size(), "hosts of ranks");
    ++ranks[static_cast<size_t>(host)];
  }
  for (size_t i = 0; i < options.hosts.size(); ++i) {
    SimHost& host = options.hosts[i];
    if (host.compute_cores > 0 || ranks[i] == 0) continue;
    host.compute_cores = host.cores < SimHost::kEnoughCores ? host.cores / ranks[i] : 1;
  }
  expect(options.message_overhead_bytes >= 0, "messages", "an overhead of 0 bytes or more",
         options.message_overhead_bytes);
  expect(options.uneven_sharing >= 0 && options.uneven_sharing < 3, "uneven_sharing",
         "0 to below 3", options.uneven_sharing);
  expect(options.backplane >= 0, "backplane", "a bandwidth of 0 or more", options.backplane);
  check_switches(options);
  check_faults(options);
  return options;
}

}  // namespace syrtos::world
