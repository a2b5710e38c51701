#include "syrtos/train/measure/measures.h"

#include <algorithm>

#include "syrtos/base/clock.h"
#include "syrtos/run/steps.h"

namespace syrtos::train {

namespace {

constexpr size_t kMostSamples = 20'000;
constexpr double kShareOfTime = 0.005;  // that gathering and writing may take

std::string layer_of(const std::string& parameter) {
  return parameter.substr(0, parameter.rfind('.'));
}

}  // namespace

Measures::Measures(TeamWork& team, const CompiledNetwork& network, const Job& job,
                   const TrainerOptions& options, double made_at, Earlier earlier,
                   Notebook* notebook, int64_t steps_done)
    : team_(team),
      network_(network),
      job_(job),
      options_(options),
      notebook_(notebook),
      own_(team.world(), team.clocks(), job.sample_seconds, job.threads),
      earlier_(std::move(earlier)),
      first_step_(steps_done + 1),
      last_step_(steps_done),
      is_lost_(static_cast<size_t>(team.workers())),
      made_at_(made_at),
      begun_at_(wall_clock()),
      hosts_(earlier_.hosts) {}

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

void Measures::add_samples(const std::string& host, const std::vector<trace::HostSample>& samples) {
  if (samples.empty()) return;
  std::vector<trace::HostSample>& known = hosts_[host];
  for (trace::HostSample sample : samples) {
    sample.time += *later_;
    if (earlier_.end > 0 && sample.time <= earlier_.end) continue;  // while it was set up again
    known.push_back(sample);
  }
  if (known.size() <= kMostSamples) return;
  for (size_t i = 0; i < known.size() / 2; ++i) known[i] = known[2 * i];
  known.resize(known.size() / 2);
}

void Measures::write(const run::Directory& directory, const std::vector<std::string>& texts,
                     int64_t steps_done) {
  texts_ = texts;
  std::vector<trace::RankDivision> divisions;
  ranks_.clear();
  servers_.clear();
  for (const std::string& text : texts) {
    if (text.empty()) continue;  // lost
    ToldMeasures told = told_measures(text, team_.world());
    divisions.push_back(std::move(told.division));
    begin_after_earlier(divisions);
    add_samples(told.traffic.host, told.samples);
    const bool serves = told.traffic.rank >= team_.workers();
    (serves ? servers_ : ranks_).push_back(std::move(told.traffic));
  }
  write_parts(directory, steps_done);
  const auto write_now = [&](run::File file, const std::function<void()>& work) {
    notebook_->write_here(run::name_of(file), work);
  };
  write_now(run::File::steps,
            [&] { run::write(directory, continued(earlier_.divisions, divisions, *later_)); });
  write_now(run::File::hosts, [&] {
    if (!hosts_.empty()) run::write(directory, hosts_);
  });
  write_now(run::File::exchange, [&] { run::write(directory, exchange()); });
  write_now(run::File::operators, [&] {
    if (!team_.replica().replays()) run::write(directory, operators());
  });
}

void Measures::write_alone(const run::Directory& directory, const std::string& own,
                           int64_t steps_done) {
  std::vector<std::string> texts = texts_;
  texts.resize(std::max<size_t>(1, texts.size()));
  texts[0] = own;
  write(directory, texts, steps_done);
}

void Measures::look_for_lost(const run::Directory& directory, int64_t steps_done) {
  const World& world = team_.world();
  const size_t before = lost_.size();
  for (world::Rank worker = 1; worker < team_.workers(); ++worker) {
    if (!world.is_lost(worker) || is_lost_[static_cast<size_t>(worker)]) continue;
    is_lost_[static_cast<size_t>(worker)] = true;
    lost_.push_back({worker, world.host(worker), steps_done});
    untold_.push_back(worker);
  }
  if (lost_.size() > before) write_parts(directory, last_step_);
}

run::TrainedPart Measures::part(int64_t steps_done) const {
  return {.first_step = first_step_,
          .last_step = steps_done,
          .team = options_.team,
          .workers = job_.workers,
          .exchange = to_string(job_.strategy.exchange),
          .sync = to_string(job_.strategy.sync),
          .wire = to_string(job_.strategy.wire),
          .update = to_string(job_.strategy.update),
          .split = to_string(job_.strategy.split),
          .network_parts = job_.strategy.split.parts,
          .begun = begun_at_,
          .ended = wall_clock(),
          .time = time(),
          .lost = lost_};
}

void Measures::write_parts(const run::Directory& directory, int64_t steps_done) {
  last_step_ = steps_done;
  std::vector<run::TrainedPart> parts = earlier_.parts;
  if (last_step_ >= first_step_ || !lost_.empty()) parts.push_back(part(last_step_));
  notebook_->write(run::name_of(run::File::parts),
                   [directory, parts = std::move(parts)] { run::write(directory, parts); });
}

/// The stretches follow each other without gaps.
run::PartTime Measures::time() const {
  const Beginning& began = options_.beginning;
  run::PartTime time{.data = began.data_s};
  if (began.resolved > 0) {
    time.start = std::max(0.0, began.resolved - began.asked - began.data_s);
    time.set_up = std::max(0.0, made_at_ - began.resolved);
  }
  time.meeting = std::max(0.0, begun_at_ - made_at_);
  const double now = seconds_since(begun_);
  time.training = trained_s_.value_or(now);
  time.end = now - time.training;
  return time;
}

run::OperatorProfile Measures::operators() const {
  const bool bf16 = job_.precision.dtype == DType::bf16;
  run::OperatorProfile profile{.network = job_.network.name(),
                               .precision = bf16 ? "bf16" : "f32",
                               .batch = job_.share(0),
                               .threads = job_.threads,
                               .items = team_.replica().profile().items()};
  if (options_.machine) {
    profile.peak_gflops = options_.machine->peak_gflops(bf16);
    profile.f32_gflops = options_.machine->f32_gflops;
    profile.bf16_gflops = options_.machine->bf16_gflops;
    profile.memory_gb_s = options_.machine->memory_gb_s;
  }
  if (earlier_.operators) add_operators(profile, *earlier_.operators);
  return profile;
}

std::vector<run::BucketTimes> Measures::buckets() const {
  std::vector<run::BucketTimes> all;
  const strategy::Layout& layout = team_.replica().layout();
  const std::vector<strategy::Meter::Bucket>& times = team_.meter().buckets();
  const auto& slots = network_.parameters().slots();
  for (size_t i = 0; i < layout.buckets.size(); ++i) {
    const strategy::Bucket& bucket = layout.buckets[i];
    if (bucket.divided) continue;  // nothing of it crosses
    strategy::Meter::Bucket sums;
    if (i < times.size()) sums = times[i];
    const auto n = static_cast<double>(std::max<int64_t>(1, sums.times));
    const auto arrivals = static_cast<double>(std::max<int64_t>(1, sums.arrivals));
    // The backward pass finishes the last layers first.
    const auto last = static_cast<size_t>(bucket.last_tensor - 1);
    all.push_back({.first_layer = layer_of(slots[last].name),
                   .last_layer = layer_of(slots[static_cast<size_t>(bucket.first_tensor)].name),
                   .bytes = static_cast<double>(bucket.count) * sizeof(float),
                   .ready_s = sums.ready / n,
                   .arrived_s = sums.arrived / arrivals,
                   .exposed_s = sums.exposed / n});
  }
  return all;
}

void Measures::write_exchange(const run::Directory& directory) const {
  notebook_->write(run::name_of(run::File::exchange),
                   [directory, profile = exchange()] { run::write(directory, profile); });
}

run::ExchangeProfile Measures::exchange() const {
  run::ExchangeProfile profile{.workers = job_.workers,
                               .exchange = to_string(job_.strategy.exchange),
                               .sync = to_string(job_.strategy.sync),
                               .wire = to_string(job_.strategy.wire),
                               .buckets = buckets(),
                               .staleness = team_.strategy().staleness(),
                               .ranks = ranks_,
                               .servers = servers_,
                               .planned_step_s = options_.planned_step_s};
  double seconds = 0, measuring = 0;
  for (const run::RankTraffic& rank : ranks_) {
    profile.bytes_sent += rank.bytes_sent;
    profile.bytes_received += rank.bytes_received;
    profile.messages += rank.messages_sent;
    profile.clock_error_s = std::max(profile.clock_error_s, rank.clock_error_s);
    seconds += rank.seconds;
    measuring += rank.measuring_s;
  }
  if (seconds > 0) profile.measuring_share = measuring / seconds;
  if (earlier_.exchange) add_exchange(profile, *earlier_.exchange);
  return profile;
}

}  // namespace syrtos::train
