#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "syrtos/base/error.h"
#include "syrtos/trace/host_reading.h"

namespace syrtos::trace {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

constexpr std::array<std::pair<const char*, double HostSample::*>, 13> kFields = {{
    {"seconds", &HostSample::seconds},
    {"user", &HostSample::user},
    {"system", &HostSample::system},
    {"iowait", &HostSample::iowait},
    {"idle", &HostSample::idle},
    {"memory_used", &HostSample::memory_used},
    {"memory_available", &HostSample::memory_available},
    {"network_in", &HostSample::network_in},
    {"network_out", &HostSample::network_out},
    {"running", &HostSample::running},
    {"processes", &HostSample::processes},
    {"rss", &HostSample::rss},
    {"process_cpu", &HostSample::process_cpu},
}};

// iowait goes back at times, and so does everything when an interface is replaced.
double gain(uint64_t first, uint64_t second) {
  return second > first ? static_cast<double>(second - first) : 0;
}

void add_cpu(HostSample& sample, const CpuTicks& first, const CpuTicks& second) {
  const double user = gain(first.user, second.user), system = gain(first.system, second.system),
               iowait = gain(first.iowait, second.iowait), idle = gain(first.idle, second.idle),
               stolen = gain(first.stolen, second.stolen);
  const double all = user + system + iowait + idle + stolen;
  if (all == 0) return;
  sample.user = user / all;
  sample.system = system / all;
  sample.iowait = iowait / all;
  sample.idle = idle / all;
}

HostSample unknown() {
  HostSample sample;
  for (const auto& [name, field] : kFields) sample.*field = kUnknown;
  return sample;
}

}  // namespace

HostSample sample_between(const HostReading& first, const HostReading& second,
                          double ticks_per_second, double page_bytes) {
  HostSample sample = unknown();
  sample.time = second.time;
  sample.seconds = static_cast<double>(second.time - first.time) * 1e-9;
  if (first.cpu && second.cpu) add_cpu(sample, *first.cpu, *second.cpu);
  if (second.memory) {
    sample.memory_used = static_cast<double>(second.memory->used());
    sample.memory_available = static_cast<double>(second.memory->available);
  }
  const bool rates = sample.seconds > 0;
  if (rates && first.network && second.network) {
    sample.network_in = gain(first.network->in, second.network->in) / sample.seconds;
    sample.network_out = gain(first.network->out, second.network->out) / sample.seconds;
  }
  if (second.processes) {
    sample.running = static_cast<double>(second.processes->running);
    sample.processes = static_cast<double>(second.processes->total);
  }
  if (second.process) sample.rss = static_cast<double>(second.process->pages) * page_bytes;
  if (rates && first.process && second.process) {
    sample.process_cpu =
        gain(first.process->ticks, second.process->ticks) / ticks_per_second / sample.seconds;
  }
  return sample;
}

nlohmann::json to_json(const HostSample& sample) {
  nlohmann::json json = {{"time", sample.time}};
  for (const auto& [name, field] : kFields) {
    if (std::isfinite(sample.*field)) json[name] = sample.*field;
  }
  return json;
}

void append_json(std::string& text, const HostSample& sample) {
  fmt::format_to(std::back_inserter(text), "{{\"time\":{}", sample.time);
  for (const auto& [name, field] : kFields) {
    if (!std::isfinite(sample.*field)) continue;
    fmt::format_to(std::back_inserter(text), ",\"{}\":{}", name, sample.*field);
  }
  text += '}';
}

HostSample host_sample_from_json(const nlohmann::json& json) {
  if (!json.is_object() || !json.contains("time") || !json["time"].is_number_integer()) {
    fail_request("host sample: expected an object with the integer 'time', found {:.60}",
                 json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  HostSample sample = unknown();
  sample.time = json["time"].get<int64_t>();
  size_t known = 1;
  for (const auto& [name, field] : kFields) {
    const auto found = json.find(name);
    if (found == json.end()) continue;
    if (!found->is_number()) fail_request("host sample: expected a number for '{}'", name);
    sample.*field = found->get<double>();
    ++known;
  }
  if (known != json.size()) fail_request("host sample: found fields that it does not have");
  return sample;
}

}  // namespace syrtos::trace
