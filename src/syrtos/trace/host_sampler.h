#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "syrtos/trace/host_reading.h"

namespace syrtos::trace {

struct HostSamplerOptions {
  std::chrono::nanoseconds period = std::chrono::seconds(1);
  size_t capacity = 10'000;  // readings, of about 160 bytes
  std::filesystem::path proc = "/proc";
};

/// The host's curves (CPU, memory, network, processes) and this process's own, sampled by a thread
/// from construction to stop(). When it is full every second reading is left out and the period
/// doubles: rates stay right, since readings are counters. Calls may come from any thread.
class HostSampler {
 public:
  explicit HostSampler(HostSamplerOptions options = {});
  ~HostSampler() { stop(); }
  HostSampler(const HostSampler&) = delete;
  HostSampler& operator=(const HostSampler&) = delete;

  /// One reading now, besides those of the thread; for the edges of a phase.
  void read_now();
  /// The curves so far: one sample less than there are readings.
  std::vector<HostSample> samples() const;
  /// A last reading, and the thread ends at once. Again: nothing happens.
  void stop();

 private:
  void run();
  void add(const HostReading& reading);  // with the mutex held

  const HostSamplerOptions options_;
  mutable std::mutex mutex_;  // of what follows
  std::condition_variable wake_;
  bool stopping_ = false;
  std::chrono::nanoseconds period_;
  std::vector<HostReading> readings_;
  std::thread thread_;
};

}  // namespace syrtos::trace
