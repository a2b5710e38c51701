#include "syrtos/train/team_work.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/collective/measure.h"
#include "syrtos/strategy/text.h"
#include "syrtos/train/fingerprint.h"

namespace syrtos::train {

using nlohmann::json;
using strategy::Strategy;
using world::Purpose;
using world::Started;

namespace {

json to_json(const EpochReport& report) {
  return {{"host", report.host},
          {"seconds", trace::to_json(report.seconds)},
          {"loss", report.training.loss},
          {"correct", report.training.correct},
          {"samples", report.training.samples},
          {"trained", report.trained},
          {"test_loss", report.evaluation.loss},
          {"test_accuracy", report.evaluation.accuracy},
          {"test_top5", report.evaluation.top5},
          {"test_samples", report.evaluation.samples},
          {"queue", report.queue},
          {"helped", report.helped}};
}

EpochReport report_of(const json& text) {
  // A loss that is not a number becomes null on its way.
  const json& loss = text.at("test_loss");
  return {.host = text.at("host"),
          .seconds = trace::division_from_json(text.at("seconds")),
          .training = {.loss = text.at("loss"),
                       .correct = text.at("correct"),
                       .samples = text.at("samples")},
          .trained = text.at("trained"),
          .evaluation = {.loss = loss.is_null() ? NAN : loss.get<double>(),
                         .accuracy = text.at("test_accuracy"),
                         .top5 = text.at("test_top5"),
                         .samples = text.at("test_samples")},
          .queue = text.at("queue"),
          .helped = text.at("helped")};
}

std::string mean_of_floats(const std::vector<std::string>& texts) {
  std::vector<double> sum(texts[0].size() / sizeof(float));
  int present = 0;
  for (const std::string& text : texts) {
    if (text.size() != texts[0].size()) continue;  // a lost worker's is empty
    ++present;
    for (size_t i = 0; i < sum.size(); ++i) {
      float value;
      std::memcpy(&value, text.data() + i * sizeof(float), sizeof(float));
      sum[i] += value;
    }
  }
  std::string mean(texts[0].size(), ' ');
  for (size_t i = 0; i < sum.size(); ++i) {
    const auto value = static_cast<float>(sum[i] / present);
    std::memcpy(mean.data() + i * sizeof(float), &value, sizeof(float));
  }
  return mean;
}

}  // namespace

strategy::Team team_of(const Job& job) { return strategy::team_of(job.strategy, job.workers); }

TeamWork::TeamWork(World& world, const Job& job)
    : world_(world),
      team_(team_of(job)),
      sync_(job.strategy.sync),
      options_(job.strategy),
      optimizer_options_(job.optimizer),
      replay_file_(job.replay),
      group_(collective::Group::of(world, team_.worker_ranks())),
      meetings_(world, team_, options_.tolerates_losses()),
      test_shard_{world.rank(), team_.workers},
      crossing_(kSums),
      clock_(world),
      clocks_(world, clock_, options_.tolerates_losses()),
      server_clocks_(world, clock_, false) {}

Task<json> TeamWork::open(json fingerprint, json state) {
  if (alone()) co_return state;
  const auto decide = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> names;
    for (int worker = 0; worker < team_.workers; ++worker) names.push_back(world_.name(worker));
    const std::string error = differences(names, texts);
    return json({{"error", error}, {"state", state}}).dump();
  };
  const std::string answer = co_await meetings_.meet(fingerprint.dump(), decide);
  const json decided = json::parse(answer);
  const std::string error = decided.at("error");
  if (!error.empty()) fail_request("{}", error);
  co_return decided.at("state");
}

Task<> TeamWork::begin(CompiledNetwork& network, optim::Optimizer& optimizer,
                       std::vector<KeptArena> kept) {
  strategy::Layout layout;
  layout.tensors = tensors_of(network.parameters());
  size_t bytes = network.parameters().weights().size_bytes();
  if (!alone() && !shares_weights()) {
    options_.link = co_await collective::measure_link(world_, group_);
    bytes = options_.bucket_mb > 0
                ? static_cast<size_t>(options_.bucket_mb * 1e6)
                : strategy::bucket_bytes(options_.link.latency_s, options_.link.bytes_per_s,
                                         workers(), bytes);
  }
  layout.buckets = strategy::plan_buckets(layout.tensors, bytes);
  replica_.emplace(network, optimizer, std::move(layout), std::move(kept));
  if (!replay_file_.empty()) {
    replica_->replay(strategy::read_compute_times(replay_file_));
  }
  strategy_ = strategy::make_strategy(world_, team_, options_, optimizer_options_, *replica_);
  co_await strategy_->begin();
  compares_moments_ = !alone() && in_step() && options_.exchange.among_workers();
  if (compares_moments_) crossing_.resize(kSums + static_cast<size_t>(workers()));
  co_await align_clocks();
  latest_ = clocks_.origin();
}

Task<> TeamWork::align_clocks() {
  if (alone()) co_return;
  const Meter::Doing waits(meter(), Part::network);
  std::vector<world::Rank> others;
  for (int worker = 1; worker < workers(); ++worker) {
    if (meetings_.present()[static_cast<size_t>(worker)]) others.push_back(worker);
  }
  co_await clocks_.align(others);
}

Task<> TeamWork::share(const Sums& sums, bool wants_to_stop) {
  co_await complete_sums();
  std::fill(crossing_.begin(), crossing_.end(), 0.0F);
  crossing_[0] = wants_to_stop ? 1.0F : 0.0F;
  crossing_[1] = static_cast<float>(sums.loss);
  crossing_[2] = static_cast<float>(sums.correct);
  crossing_[3] = static_cast<float>(sums.samples);
  if (compares_moments_) {
    // Since the last one, which all know: then a float is exact enough.
    computed_ = clock_.steady(meter().computed_at());
    crossing_[kSums + static_cast<size_t>(world_.rank())] =
        static_cast<float>(clocks_.to_first(computed_) - latest_) * 1e-9F;
  }
  exchange_ = Started(world_, exchange_sums(rounds_++));
}

Task<> TeamWork::exchange_sums(uint32_t round) {
  collective::ReduceOptions options;
  options.algorithm = collective::Algorithm::doubling;
  options.tag = {Purpose::reduce, 0, round};
  options.priority = 1 << 20;
  co_await collective::all_reduce(world_, group_, {crossing_.data(), crossing_.size()}, options);
}

Task<> TeamWork::complete_sums() {
  if (!exchange_.valid()) co_return;
  {
    const Meter::Doing waits(meter(), Part::network);
    co_await exchange_.join();
  }
  exchange_.cancel();
  if (compares_moments_) compare_moments();
  stop_agreed_ = stop_agreed_ || crossing_[0] > 0;
  complete_.loss += crossing_[1];
  complete_.correct += std::lround(crossing_[2]);
  complete_.samples += std::lround(crossing_[3]);
}

/// While another worker computed a step that this one had computed already, it waited for that one,
/// if it had nothing else to do.
void TeamWork::compare_moments() {
  const float last = *std::max_element(crossing_.begin() + kSums, crossing_.end());
  latest_ += std::llround(static_cast<double>(last) * 1e9);
  const int64_t until = clocks_.from_first(latest_) - clocks_.error();
  meter().waited_for_others({clock_.of_steady(computed_), clock_.of_steady(until)});
}

Task<std::vector<std::string>> TeamWork::gather(std::string mine) {
  std::vector<std::string> all;
  if (alone()) {
    all.push_back(std::move(mine));
    co_return all;
  }
  const Meter::Doing waits(meter(), Part::wait);
  co_await meetings_.meet(std::move(mine), [&](const std::vector<std::string>& texts) {
    all = texts;
    return std::string();
  });
  co_return all;
}

Task<std::vector<std::string>> TeamWork::hear_servers(strategy::Command what) {
  std::vector<std::string> texts;
  if (world_.rank() != 0 || team_.servers == 0) co_return texts;
  const Meter::Doing waits(meter(), Part::network);
  co_await strategy_->ask_servers(what);
  std::vector<world::Rank> servers;
  for (int k = 0; k < team_.servers; ++k) servers.push_back(team_.server_rank(k));
  co_await server_clocks_.align(servers);
  for (const world::Rank server : servers) {
    std::string text =
        co_await strategy::receive_text(world_, server, strategy::told_tag(heard_), false);
    texts.push_back(std::move(text));
  }
  ++heard_;
  co_return texts;
}

Task<> TeamWork::average_states() {
  const strategy::Floats states = replica_->states();
  if (states.count == 0) co_return;
  std::string mine(states.count * sizeof(float), ' ');
  std::memcpy(mine.data(), states.data, mine.size());
  const Meter::Doing waits(meter(), Part::network);
  const std::string mean = co_await meetings_.meet(mine, mean_of_floats);
  if (mean.size() != mine.size()) fail_run("rank 0 has other running statistics");
  std::memcpy(states.data, mean.data(), mean.size());
}

Task<json> TeamWork::report(const EpochReport& mine,
                            std::function<json(const std::vector<EpochReport>&)> decide) {
  const std::string text = to_json(mine).dump();
  const auto merge = [&](const std::vector<std::string>& texts) {
    std::vector<EpochReport> reports;
    for (const std::string& one : texts) {
      reports.push_back(one.empty() ? EpochReport{} : report_of(json::parse(one)));
    }
    return decide(reports).dump();
  };
  if (alone()) {
    const std::vector<std::string> only(1, text);
    co_return json::parse(merge(only));
  }
  const Meter::Doing waits(meter(), Part::wait);
  const std::string answer = co_await meetings_.meet(text, merge);
  co_return json::parse(answer);
}

Task<> TeamWork::meet(bool wants_to_stop) {
  if (alone()) co_return;
  // Worker 0 knows who is left; each learns its part of the test data.
  const auto decide = [&](const std::vector<std::string>& texts) {
    const bool stop = std::find(texts.begin(), texts.end(), "stop") != texts.end();
    json places = json::array();
    int next = 0;
    for (const bool present : meetings_.present()) places.push_back(present ? next++ : -1);
    return json({{"places", places}, {"present", next}, {"stop", stop}}).dump();
  };
  const Meter::Doing waits(meter(), Part::wait);
  const std::string answer = co_await meetings_.meet(wants_to_stop ? "stop" : "go on", decide);
  const json decided = json::parse(answer);
  stop_agreed_ = stop_agreed_ || decided.at("stop").get<bool>();
  test_shard_ = {decided.at("places").at(static_cast<size_t>(world_.rank())).get<int64_t>(),
                 decided.at("present").get<int64_t>()};
}

Task<Sums> TeamWork::hand_over(Sums mine) {
  if (alone()) co_return mine;
  Sums all;
  const auto add_up = [&](const std::vector<std::string>& texts) -> std::string {
    for (const std::string& text : texts) {
      if (text.empty()) continue;  // lost
      const json sums = json::parse(text);
      all.loss += sums.at("loss").get<double>();
      all.correct += sums.at("correct").get<int64_t>();
      all.samples += sums.at("samples").get<int64_t>();
    }
    return {};
  };
  const json text = {{"loss", mine.loss}, {"correct", mine.correct}, {"samples", mine.samples}};
  const Meter::Doing waits(meter(), Part::wait);
  co_await meetings_.meet(text.dump(), add_up);
  co_return all;
}

}  // namespace syrtos::train
