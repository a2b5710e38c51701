#include "syrtos/train/own_measures.h"

#include <chrono>
#include <cstring>

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

OwnMeasures::OwnMeasures(const World& world, const Clocks& clocks, double period)
    : world_(world), clocks_(clocks) {
  if (period <= 0 || !is_first_of_host(world)) return;
  trace::HostSamplerOptions options;
  options.period =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(period));
  sampler_ = std::make_unique<trace::HostSampler>(options);
}

std::vector<trace::HostSample> OwnMeasures::curves() const {
  return sampler_ ? sampler_->samples() : std::vector<trace::HostSample>();
}

std::vector<json> OwnMeasures::new_samples() {
  std::vector<json> samples;
  if (!sampler_) return samples;
  for (const trace::HostSample& sample : sampler_->samples()) {
    if (sample.time <= sampled_until_) continue;
    sampled_until_ = sample.time;
    trace::HostSample aligned = sample;
    aligned.time = clocks_.to_first(sample.time);
    samples.push_back(trace::to_json(aligned));
  }
  return samples;
}

/// A text of JSON and, behind it, the records: its length comes first.
std::string OwnMeasures::text(const trace::DivisionLog& log, double measuring_s) {
  if (sampler_) sampler_->read_now();
  const world::Traffic& traffic = world_.traffic();
  const json said = {{"rank", world_.rank()},
                     {"host", world_.host(world_.rank())},
                     {"samples", new_samples()},
                     {"clock", clock_json(clocks_.offsets())},
                     {"clock_error_s", static_cast<double>(clocks_.error()) * 1e-9},
                     {"seconds", seconds_since(begun_)},
                     {"measuring_s", measuring_s},
                     {"bytes_sent", traffic.bytes_sent},
                     {"bytes_received", traffic.bytes_received},
                     {"messages_sent", traffic.messages_sent},
                     {"messages_received", traffic.messages_received}};
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
    told.about = json::parse(rest.substr(0, size));
    told.division =
        trace::division_from_bytes(rest.substr(size), world.name(told.about.at("rank").get<int>()));
    const trace::ClockMap clock = clock_of(told.about.at("clock"));
    for (trace::DivisionRecord& record : told.division.records) {
      record.start = clock.to_reference(record.start);
    }
    told.samples = std::move(told.about.at("samples"));
    told.about.erase("samples");
    told.about.erase("clock");
    return told;
  } catch (const json::exception& error) {
    fail_run("what a rank measured cannot be read: {}", error.what());
  }
}

}  // namespace syrtos::train
