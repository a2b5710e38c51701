#include "syrtos/train/measures.h"

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"

namespace syrtos::train {

using nlohmann::json;

namespace {

constexpr size_t kMostSamples = 20'000;
constexpr double kShareOfTime = 0.005;  // that gathering and writing may take

std::string layer_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

void write_json(const std::filesystem::path& path, const json& text) {
  AtomicFile file(path);
  file.write(text.dump() + "\n");
  file.commit();
}

}  // namespace

Measures::Measures(TeamWork& team, const CompiledNetwork& network, const ResolvedJob& job,
                   Earlier earlier, int64_t steps_done)
    : team_(team),
      network_(network),
      job_(job),
      own_(team.world(), team.clocks(), job.job.sample_seconds),
      earlier_(std::move(earlier)),
      first_step_(steps_done + 1),
      last_step_(steps_done),
      is_lost_(static_cast<size_t>(team.workers())),
      begun_at_(wall_clock()) {
  if (earlier_.hosts.is_object()) {
    for (const auto& [host, samples] : earlier_.hosts.items()) {
      if (samples.is_array()) hosts_[host] = samples.get<std::vector<json>>();
    }
  }
}

bool Measures::due() const { return spent_s_ <= kShareOfTime * seconds_since(begun_); }

double Measures::measuring_s(int64_t events) const {
  const int64_t looks = team_.meter().looks() + team_.replica().profile().looks();
  return spent_s_ + cost_.seconds(looks, events);
}

std::string Measures::own_text(const trace::DivisionLog& log, int64_t events) {
  return own_.text(log, measuring_s(events));
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
  if (samples.empty()) return;
  std::vector<json>& known = hosts_[host];
  for (json sample : samples) {
    const int64_t time = sample.at("time").get<int64_t>() + *later_;
    if (earlier_.end > 0 && time <= earlier_.end) continue;  // while the run was set up again
    sample["time"] = time;
    known.push_back(std::move(sample));
  }
  if (known.size() <= kMostSamples) return;
  for (size_t i = 0; i < known.size() / 2; ++i) known[i] = std::move(known[2 * i]);
  known.resize(known.size() / 2);
}

void Measures::write(const RunDirectory& directory, const std::vector<std::string>& texts,
                     int64_t steps_done) {
  std::vector<trace::RankDivision> divisions;
  ranks_ = servers_ = json::array();
  for (const std::string& text : texts) {
    if (text.empty()) continue;  // lost
    ToldMeasures told = told_measures(text, team_.world());
    divisions.push_back(std::move(told.division));
    begin_after_earlier(divisions);
    add_samples(told.about.at("host"), told.samples);
    const bool serves = told.about.at("rank").get<int64_t>() >= job_.job.workers;
    (serves ? servers_ : ranks_).push_back(std::move(told.about));
  }
  write_parts(directory, steps_done);
  trace::write_divisions(directory.steps(), continued(earlier_.divisions, divisions, *later_));
  if (!hosts_.empty()) write_json(directory.hosts(), hosts_);
  write_exchange(directory);
  if (!team_.replica().replays()) write_operators(directory);
}

void Measures::look_for_lost(const RunDirectory& directory, int64_t steps_done) {
  const World& world = team_.world();
  const size_t before = lost_.size();
  for (world::Rank worker = 1; worker < team_.workers(); ++worker) {
    if (!world.is_lost(worker) || is_lost_[static_cast<size_t>(worker)]) continue;
    is_lost_[static_cast<size_t>(worker)] = true;
    lost_.push_back({{"rank", worker}, {"host", world.host(worker)}, {"step", steps_done}});
  }
  if (lost_.size() > before) write_parts(directory, last_step_);
}

void Measures::write_parts(const RunDirectory& directory, int64_t steps_done) {
  last_step_ = steps_done;
  json parts = earlier_.parts;
  if (!parts.is_array()) parts = json::array();
  if (last_step_ >= first_step_ || !lost_.empty()) {
    parts.push_back({{"first_step", first_step_},
                     {"last_step", last_step_},
                     {"workers", job_.job.workers},
                     {"exchange", job_.job.exchange},
                     {"sync", job_.job.sync},
                     {"wire", job_.job.wire},
                     {"update", job_.job.update},
                     {"begun", begun_at_},
                     {"ended", wall_clock()},
                     {"lost", lost_}});
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
  if (!servers_.empty()) text["servers"] = servers_;
  // Of all workers.
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
