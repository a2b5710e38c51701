#include "syrtos/train/measures.h"

#include <chrono>
#include <cstring>

#include "syrtos/base/error.h"

namespace syrtos::train {

using nlohmann::json;

namespace {

constexpr size_t kMostSamples = 20'000;
constexpr double kShareOfTime = 0.005;  // that gathering and writing may take

std::string layer_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

bool is_first_of_host(const World& world) {
  for (world::Rank rank = 0; rank < world.rank(); ++rank) {
    if (world.host(rank) == world.host(world.rank())) return false;
  }
  return true;
}

void write_json(const std::filesystem::path& path, const json& text) {
  AtomicFile file(path);
  file.write(text.dump() + "\n");
  file.commit();
}

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
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

Measures::Measures(TeamWork& team, const Network& network, const ResolvedJob& job, Earlier earlier,
                   int64_t steps_done)
    : team_(team),
      network_(network),
      job_(job),
      earlier_(std::move(earlier)),
      first_step_(steps_done + 1),
      begun_at_(wall_clock()) {
  if (earlier_.hosts.is_object()) {
    for (const auto& [host, samples] : earlier_.hosts.items()) {
      if (samples.is_array()) hosts_[host] = samples.get<std::vector<json>>();
    }
  }
  const double period = job.job.sample_seconds;
  if (period <= 0 || !is_first_of_host(team.world())) return;
  trace::HostSamplerOptions options;
  options.period =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(period));
  sampler_ = std::make_unique<trace::HostSampler>(options);
}

bool Measures::due() const { return spent_s_ <= kShareOfTime * seconds_since(begun_); }

std::vector<trace::HostSample> Measures::curves() const {
  return sampler_ ? sampler_->samples() : std::vector<trace::HostSample>();
}

std::vector<json> Measures::new_samples() {
  std::vector<json> samples;
  if (!sampler_) return samples;
  for (const trace::HostSample& sample : sampler_->samples()) {
    if (sample.time <= sampled_until_) continue;
    sampled_until_ = sample.time;
    trace::HostSample aligned = sample;
    aligned.time = team_.clocks().to_first(sample.time);
    samples.push_back(trace::to_json(aligned));
  }
  return samples;
}

double Measures::measuring_s(int64_t events) const {
  const int64_t looks = team_.meter().looks() + team_.replica().profile().looks();
  return spent_s_ + cost_.seconds(looks, events);
}

/// A text of JSON and, behind it, the records: its length comes first.
std::string Measures::own(const trace::DivisionLog& log, int64_t events) {
  if (sampler_) sampler_->read_now();
  const World& world = team_.world();
  const world::Traffic& traffic = team_.world().traffic();
  const json said = {{"rank", world.rank()},
                     {"host", world.host(world.rank())},
                     {"samples", new_samples()},
                     {"clock", clock_json(team_.clocks().offsets())},
                     {"clock_error_s", static_cast<double>(team_.clocks().error()) * 1e-9},
                     {"seconds", seconds_since(begun_)},
                     {"measuring_s", measuring_s(events)},
                     {"bytes_sent", traffic.bytes_sent},
                     {"bytes_received", traffic.bytes_received},
                     {"messages_sent", traffic.messages_sent},
                     {"messages_received", traffic.messages_received}};
  const std::string text = said.dump();
  const uint64_t size = text.size();
  std::string all(sizeof(size), ' ');
  std::memcpy(all.data(), &size, sizeof(size));
  return all + text + trace::to_bytes(log);
}

void Measures::begin(const trace::DivisionLog& own) {
  if (later_) return;
  begin_after_earlier({{own.rank(), {own.records().begin(), own.records().end()}}});
}

/// The pause between two processes is no time of the run.
void Measures::begin_after_earlier(const std::vector<trace::RankDivision>& own) {
  if (later_) return;
  later_ = 0;
  if (earlier_.end == 0) return;
  int64_t begun = trace::now();
  for (const trace::RankDivision& rank : own) {
    if (rank.rank == 0 && !rank.records.empty()) begun = rank.records.front().start;
  }
  later_ = earlier_.end - begun;
}

void Measures::add_samples(const std::string& host, const json& samples) {
  std::vector<json>& known = hosts_[host];
  for (json sample : samples) {
    sample["time"] = sample.at("time").get<int64_t>() + *later_;
    known.push_back(std::move(sample));
  }
  if (known.size() <= kMostSamples) return;
  for (size_t i = 0; i < known.size() / 2; ++i) known[i] = std::move(known[2 * i]);
  known.resize(known.size() / 2);
}

void Measures::write(const RunDirectory& directory, const std::vector<std::string>& texts,
                     int64_t steps_done) {
  std::vector<trace::RankDivision> divisions;
  ranks_ = json::array();
  for (const std::string& text : texts) {
    uint64_t size = 0;
    if (text.size() < sizeof(size)) continue;  // lost
    std::memcpy(&size, text.data(), sizeof(size));
    const std::string_view rest = std::string_view(text).substr(sizeof(size));
    if (size > rest.size()) fail_run("a worker's measures end within {} bytes", rest.size());
    json said = json::parse(rest.substr(0, size));
    divisions.push_back(trace::division_from_bytes(rest.substr(size),
                                                   team_.world().name(said.at("rank").get<int>())));
    const trace::ClockMap clock = clock_of(said.at("clock"));
    for (trace::DivisionRecord& record : divisions.back().records) {
      record.start = clock.to_reference(record.start);
    }
    begin_after_earlier(divisions);
    add_samples(said.at("host"), said.at("samples"));
    said.erase("samples");
    said.erase("clock");
    ranks_.push_back(std::move(said));
  }
  write_parts(directory, steps_done);
  trace::write_divisions(directory.steps(), continued(earlier_.divisions, divisions, *later_));
  if (sampler_) write_json(directory.hosts(), hosts_);
  write_exchange(directory);
  if (!team_.replica().replays()) write_operators(directory);
}

void Measures::write_parts(const RunDirectory& directory, int64_t steps_done) const {
  json parts = earlier_.parts;
  if (!parts.is_array()) parts = json::array();
  if (steps_done >= first_step_) {
    parts.push_back({{"first_step", first_step_},
                     {"last_step", steps_done},
                     {"workers", job_.job.workers},
                     {"exchange", job_.job.exchange},
                     {"sync", job_.job.sync},
                     {"wire", job_.job.wire},
                     {"begun", begun_at_},
                     {"ended", wall_clock()}});
  }
  write_json(directory.parts(), {{"parts", parts}});
}

void Measures::write_operators(const RunDirectory& directory) const {
  const bool bf16 = job_.precision.dtype == DType::bf16;
  json text = {{"network", job_.job.network},
               {"batch", job_.share(0)},
               {"precision", bf16 ? "bf16" : "f32"},
               {"threads", job_.job.threads},
               {"items", team_.replica().profile().to_json()}};
  if (job_.machine) {
    text["machine"] = {{"peak_gflops", job_.machine->peak_gflops(bf16)},
                       {"f32_gflops", job_.machine->f32_gflops},
                       {"bf16_gflops", job_.machine->bf16_gflops},
                       {"memory_gb_s", job_.machine->memory_gb_s}};
  }
  add_operators(text, earlier_.operators);
  write_json(directory.operators(), text);
}

json Measures::buckets() const {
  json all = json::array();
  const strategy::Layout& layout = team_.replica().layout();
  const std::vector<strategy::Meter::Bucket>& times = team_.meter().buckets();
  const auto& slots = network_.parameters().slots();
  for (size_t i = 0; i < layout.buckets.size(); ++i) {
    const strategy::Bucket& bucket = layout.buckets[i];
    strategy::Meter::Bucket sums;
    if (i < times.size()) sums = times[i];
    const auto n = static_cast<double>(std::max<int64_t>(1, sums.times));
    const auto arrivals = static_cast<double>(std::max<int64_t>(1, sums.arrivals));
    // The backward pass finishes the last layers first.
    const auto last = static_cast<size_t>(bucket.last_tensor - 1);
    all.push_back({{"first_layer", layer_of(slots[last].name)},
                   {"last_layer", layer_of(slots[static_cast<size_t>(bucket.first_tensor)].name)},
                   {"bytes", bucket.count * sizeof(float)},
                   {"ready_s", sums.ready / n},
                   {"arrived_s", sums.arrived / arrivals},
                   {"exposed_s", sums.exposed / n}});
  }
  return all;
}

void Measures::write_exchange(const RunDirectory& directory) const {
  json text = {{"workers", job_.job.workers},
               {"exchange", job_.job.exchange},
               {"sync", job_.job.sync},
               {"wire", job_.job.wire},
               {"buckets", buckets()},
               {"staleness", json::object()},
               {"ranks", ranks_}};
  // In all.
  double error = 0, seconds = 0, measuring = 0;
  uint64_t sent = 0, received = 0, messages = 0;
  for (const json& rank : ranks_) {
    sent += rank.at("bytes_sent").get<uint64_t>();
    received += rank.at("bytes_received").get<uint64_t>();
    messages += rank.at("messages_sent").get<uint64_t>();
    error = std::max(error, rank.at("clock_error_s").get<double>());
    seconds += rank.at("seconds").get<double>();
    measuring += rank.at("measuring_s").get<double>();
  }
  text["bytes_sent"] = sent;
  text["bytes_received"] = received;
  text["messages"] = messages;
  text["clock_error_s"] = error;
  if (seconds > 0) text["measuring_share"] = measuring / seconds;
  if (job_.planned_step_s > 0) text["plan"] = {{"step", job_.planned_step_s}};
  for (const auto& [stale, pushes] : team_.strategy().staleness()) {
    text["staleness"][std::to_string(stale)] = pushes;
  }
  add_exchange(text, earlier_.exchange);
  write_json(directory.exchange(), text);
}

}  // namespace syrtos::train
