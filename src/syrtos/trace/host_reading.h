#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace syrtos::trace {

// What Linux tells about a host, each from one file below /proc. The parse functions give nothing
// for a text that does not have the form.

/// /proc/stat: ticks of all CPUs together since the host was started.
struct CpuTicks {
  uint64_t user = 0;    // and nice
  uint64_t system = 0;  // and interrupts
  uint64_t iowait = 0;  // idle, while a disk was awaited
  uint64_t idle = 0;
  uint64_t stolen = 0;  // that the hypervisor gave to others
  bool operator==(const CpuTicks&) const = default;
};
std::optional<CpuTicks> parse_stat(std::string_view text);

/// /proc/meminfo: bytes.
struct Memory {
  uint64_t total = 0;
  uint64_t available = 0;
  uint64_t used() const { return total - available; }
  bool operator==(const Memory&) const = default;
};
std::optional<Memory> parse_meminfo(std::string_view text);

/// /proc/net/dev: bytes through all interfaces but lo. In a network namespace these are its own.
struct NetworkBytes {
  uint64_t in = 0;
  uint64_t out = 0;
  bool operator==(const NetworkBytes&) const = default;
};
std::optional<NetworkBytes> parse_net_dev(std::string_view text);

/// /proc/loadavg.
struct Processes {
  uint64_t running = 0;  // or ready to
  uint64_t total = 0;
  bool operator==(const Processes&) const = default;
};
std::optional<Processes> parse_loadavg(std::string_view text);

/// /proc/self/stat: this process.
struct ProcessUse {
  uint64_t ticks = 0;  // of CPU time, user and system
  uint64_t pages = 0;  // in memory
  bool operator==(const ProcessUse&) const = default;
};
std::optional<ProcessUse> parse_self_stat(std::string_view text);

/// All of it at one moment; what is missing is not told there.
struct HostReading {
  int64_t time = 0;  // nanoseconds of the steady clock
  std::optional<CpuTicks> cpu;
  std::optional<Memory> memory;
  std::optional<NetworkBytes> network;
  std::optional<Processes> processes;
  std::optional<ProcessUse> process;
};
/// Reads the files below `proc`; never throws for what is in them.
HostReading read_host(const std::filesystem::path& proc, int64_t time);

/// One point of the curves: between two readings. Not-a-number: not known.
struct HostSample {
  int64_t time = 0;                      // of the second reading
  double seconds = 0;                    // since the first
  double user, system, iowait, idle;     // shares of all CPUs, 0 to 1
  double memory_used, memory_available;  // bytes
  double network_in, network_out;        // bytes per second
  double running, processes;             // of the host
  double rss;                            // bytes of this process
  double process_cpu;                    // CPU seconds per second of this process
};
/// Counters that went back (an interface was replaced) count as standing still.
HostSample sample_between(const HostReading& first, const HostReading& second,
                          double ticks_per_second, double page_bytes);

/// One flat object; what is not known is left out.
nlohmann::json to_json(const HostSample& sample);
/// The same as text, at the end of `text`: for many samples at once.
void append_json(std::string& text, const HostSample& sample);
/// Throws RequestError for anything but such an object.
HostSample host_sample_from_json(const nlohmann::json& json);

}  // namespace syrtos::trace
