#include "syrtos/train/measure/own_measures.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "syrtos/base/cpu.h"
#include "syrtos/base/error.h"

namespace syrtos::train {

using nlohmann::json;
using world::World;

namespace {

bool is_first_of_host(const World& world) {
  for (world::Rank rank = 0; rank < world.rank(); ++rank) {
    if (world.host(rank) == world.host(world.rank())) return false;
  }
  return true;
}

/// A rank of many speaks with a few for the most part.
std::vector<run::LinkTraffic> busiest_links(const World& world) {
  constexpr size_t kMost = 32;
  std::vector<run::LinkTraffic> links;
  for (const world::LinkUse& use : world.links()) {
    links.push_back({use.peer, use.bytes, use.busy_s, use.retransmitted});
  }
  std::stable_sort(links.begin(), links.end(),
                   [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
  if (links.size() > kMost) links.resize(kMost);
  return links;
}

json clock_json(const std::vector<trace::ClockOffset>& offsets) {
  json all = json::array();
  for (const trace::ClockOffset& one : offsets) all.push_back({one.at, one.offset, one.error});
  return all;
}

trace::ClockMap clock_of(const json& offsets) {
  std::vector<trace::ClockOffset> all;
  for (const json& one : offsets) all.push_back({one.at(0), one.at(1), one.at(2)});
  return trace::ClockMap(all);
}

}  // namespace

OwnMeasures::OwnMeasures(const World& world, const Clocks& clocks, double period, int threads)
    : world_(world), clocks_(clocks), threads_(threads) {
  if (period <= 0 || !is_first_of_host(world)) return;
  trace::HostSamplerOptions options;
  options.period =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(period));
  sampler_ = std::make_unique<trace::HostSampler>(options);
}

std::vector<trace::HostSample> OwnMeasures::curves() const {
  return sampler_ ? sampler_->samples() : std::vector<trace::HostSample>();
}

std::vector<trace::HostSample> OwnMeasures::new_samples() {
  std::vector<trace::HostSample> samples;
  if (!sampler_) return samples;
  for (const trace::HostSample& sample : sampler_->samples()) {
    if (sample.time <= sampled_until_) continue;
    sampled_until_ = sample.time;
    trace::HostSample aligned = sample;
    aligned.time = clocks_.to_first(sample.time);
    samples.push_back(aligned);
  }
  return samples;
}

json to_json(const std::vector<trace::HostSample>& samples) {
  json list = json::array();
  for (const trace::HostSample& sample : samples) list.push_back(trace::to_json(sample));
  return list;
}

std::vector<trace::HostSample> samples_of(const json& list) {
  std::vector<trace::HostSample> samples;
  for (const json& sample : list) samples.push_back(trace::host_sample_from_json(sample));
  return samples;
}

/// A text of JSON and, behind it, the records: its length comes first.
std::string OwnMeasures::text(const trace::DivisionLog& log, double measuring_s) {
  if (sampler_) sampler_->read_now();
  const world::Traffic& traffic = world_.traffic();
  const trace::ThreadUse used = trace::read_thread_use();
  const run::RankTraffic about{.rank = world_.rank(),
                               .host = world_.host(world_.rank()),
                               .clock_error_s = static_cast<double>(clocks_.error()) * 1e-9,
                               .seconds = seconds_since(begun_),
                               .measuring_s = measuring_s,
                               .bytes_sent = static_cast<int64_t>(traffic.bytes_sent),
                               .bytes_received = static_cast<int64_t>(traffic.bytes_received),
                               .messages_sent = static_cast<int64_t>(traffic.messages_sent),
                               .messages_received = static_cast<int64_t>(traffic.messages_received),
                               .machine = trace::machine_name(),
                               .process = getpid(),
                               .cores = cpu_info().cores,
                               .threads = threads_,
                               .cpu_s = std::max(0.0, used.cpu_s - used_before_.cpu_s),
                               .ready_s = std::max(0.0, used.ready_s - used_before_.ready_s),
                               .links = busiest_links(world_)};
  const json said = {{"about", run::to_json(about)},
                     {"samples", to_json(new_samples())},
                     {"clock", clock_json(clocks_.offsets())}};
  const std::string words = said.dump();
  const uint64_t size = words.size();
  std::string all(sizeof(size), ' ');
  std::memcpy(all.data(), &size, sizeof(size));
  return all + words + trace::to_bytes(log);
}

ToldMeasures told_measures(const std::string& text, const World& world) {
  uint64_t size = 0;
  if (text.size() < sizeof(size)) fail_run("measures end within {} bytes", text.size());
  std::memcpy(&size, text.data(), sizeof(size));
  const std::string_view rest = std::string_view(text).substr(sizeof(size));
  if (size > rest.size()) fail_run("measures end within {} bytes", rest.size());
  try {
    ToldMeasures told;
    const json said = json::parse(rest.substr(0, size));
    const std::optional<run::RankTraffic> about = run::rank_traffic_from_json(said.at("about"));
    if (!about || about->rank >= world.size()) fail_run("measures of no rank that is known");
    told.traffic = *about;
    told.division = trace::division_from_bytes(rest.substr(size), world.name(about->rank));
    told.samples = samples_of(said.at("samples"));
    const trace::ClockMap clock = clock_of(said.at("clock"));
    for (trace::DivisionRecord& record : told.division.records) {
      record.start = clock.to_reference(record.start);
    }
    return told;
  } catch (const json::exception& error) {
    fail_run("what a rank measured cannot be read: {}", error.what());
  } catch (const RequestError& error) {
    fail_run("what a rank measured cannot be read: {}", error.what());
  }
}

}  // namespace syrtos::train
