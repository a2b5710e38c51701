#include "syrtos/trace/host_sampler.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/trace/recorder.h"

namespace syrtos::trace {

HostSampler::HostSampler(HostSamplerOptions options)
    : options_(std::move(options)), period_(options_.period) {
  SYRTOS_CHECK(options_.period > std::chrono::nanoseconds(0));
  SYRTOS_CHECK(options_.capacity >= 4, "{}", options_.capacity);
  read_now();
  thread_ = std::thread([this] { run(); });
}

void HostSampler::run() {
  std::unique_lock lock(mutex_);
  auto next = Clock::now() + period_;
  while (!wake_.wait_until(lock, next, [this] { return stopping_; })) {
    add(read_host(options_.proc, now()));
    // A host that was too busy for some readings does not make them up.
    next = std::max(next, Clock::now() - period_) + period_;
  }
}

void HostSampler::read_now() {
  const std::lock_guard lock(mutex_);
  add(read_host(options_.proc, now()));
}

void HostSampler::add(const HostReading& reading) {
  if (readings_.size() >= options_.capacity) {
    size_t kept = 0;
    for (size_t i = 0; i < readings_.size(); i += 2) readings_[kept++] = readings_[i];
    readings_.resize(kept);
    if (period_ < std::chrono::hours(24)) period_ *= 2;
  }
  readings_.push_back(reading);
}

std::vector<HostSample> HostSampler::samples() const {
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  const std::lock_guard lock(mutex_);
  std::vector<HostSample> samples;
  for (size_t i = 1; i < readings_.size(); ++i) {
    samples.push_back(sample_between(readings_[i - 1], readings_[i], ticks, page));
  }
  return samples;
}

void HostSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(stopping_, true)) return;
    add(read_host(options_.proc, now()));
  }
  wake_.notify_all();
  thread_.join();
}

}  // namespace syrtos::trace
