#include "syrtos/train/team/worker_meetings.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"

namespace syrtos::train {

using nlohmann::json;
using strategy::Meter;
using strategy::Sums;
using trace::Part;
using world::Task;

namespace {

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

WorkerMeetings::WorkerMeetings(world::World& world, const strategy::Team& team,
                               strategy::Meetings& meetings, strategy::StepSums& sums, Meter& meter)
    : world_(world),
      workers_(team.workers),
      meetings_(meetings),
      sums_(sums),
      meter_(meter),
      group_(collective::Group::of(world, team.part_ranks(team.part_of(world.rank())))),
      test_shard_{team.replica_of(world.rank()), team.replicas()} {}

Task<> WorkerMeetings::meet(bool wants_to_stop) {
  if (alone()) co_return;
  // Worker 0 knows who is left; each learns its part of the test data.
  const auto decide = [&](const std::vector<std::string>& texts) {
    const bool stop = std::find(texts.begin(), texts.end(), "stop") != texts.end();
    json places = json::array();
    int next = 0;
    for (const bool present : meetings_.present()) places.push_back(present ? next++ : -1);
    return json({{"places", places}, {"present", next}, {"stop", stop}}).dump();
  };
  const Meter::Doing waits(meter_, Part::wait);
  const std::string answer = co_await meetings_.meet(wants_to_stop ? "stop" : "go on", decide);
  const json decided = json::parse(answer);
  if (decided.at("stop").get<bool>()) sums_.agree_to_stop();
  if (group_.size() < workers_) co_return;  // parts of a network cannot do without each other
  test_shard_ = {decided.at("places").at(static_cast<size_t>(world_.rank())).get<int64_t>(),
                 decided.at("present").get<int64_t>()};
}

Task<json> WorkerMeetings::report(const EpochReport& mine,
                                  std::function<json(const std::vector<EpochReport>&)> decide) {
  const std::string text = to_json(mine).dump();
  const auto merge = [&](const std::vector<std::string>& texts) {
    std::vector<EpochReport> reports;
    for (const std::string& one : texts) {
      reports.push_back(one.empty() ? EpochReport{} : epoch_report_of(json::parse(one)));
    }
    return decide(reports).dump();
  };
  if (alone()) {
    const std::vector<std::string> only(1, text);
    co_return json::parse(merge(only));
  }
  const Meter::Doing waits(meter_, Part::wait);
  const std::string answer = co_await meetings_.meet(text, merge);
  co_return json::parse(answer);
}

Task<json> WorkerMeetings::hear_first(json mine) {
  if (alone()) co_return mine;
  const auto decide = [](const std::vector<std::string>& texts) { return texts[0]; };
  const Meter::Doing waits(meter_, Part::wait);
  co_return json::parse(co_await meetings_.meet(mine.dump(), decide));
}

Task<Sums> WorkerMeetings::hand_over(Sums mine) {
  if (alone()) co_return mine;
  Sums all;
  const auto add_up = [&](const std::vector<std::string>& texts) -> std::string {
    for (const std::string& text : texts) {
      if (text.empty()) continue;  // lost
      const json sums = json::parse(text);
      all += {sums.at("loss"), sums.at("score"), sums.at("samples")};
    }
    return {};
  };
  const json text = {{"loss", mine.loss}, {"score", mine.score}, {"samples", mine.samples}};
  const Meter::Doing waits(meter_, Part::wait);
  co_await meetings_.meet(text.dump(), add_up);
  co_return all;
}

Task<> WorkerMeetings::average(strategy::Floats states) {
  if (group_.size() == 1 || states.count == 0) co_return;
  if (group_.size() < workers_) {
    co_await average_in_group(states);
    co_return;
  }
  std::string mine(states.count * sizeof(float), ' ');
  std::memcpy(mine.data(), states.data, mine.size());
  const Meter::Doing waits(meter_, Part::network);
  const std::string mean = co_await meetings_.meet(mine, mean_of_floats);
  if (mean.size() != mine.size()) fail_run("rank 0 has other running statistics");
  std::memcpy(states.data, mean.data(), mean.size());
}

/// Each part of a network has statistics of its own.
Task<> WorkerMeetings::average_in_group(strategy::Floats states) {
  const Meter::Doing waits(meter_, Part::network);
  collective::ReduceOptions options;
  options.tag = {world::Purpose::reduce, 1, averaged_++};
  co_await collective::all_reduce(world_, group_, states, options);
  const auto replicas = static_cast<float>(group_.size());
  for (size_t i = 0; i < states.count; ++i) states.data[i] /= replicas;
}

Task<std::vector<std::string>> WorkerMeetings::gather(std::string mine) {
  std::vector<std::string> all;
  if (alone()) {
    all.push_back(std::move(mine));
    co_return all;
  }
  const Meter::Doing waits(meter_, Part::wait);
  co_await meetings_.meet(std::move(mine), [&](const std::vector<std::string>& texts) {
    all = texts;
    return std::string();
  });
  co_return all;
}

}  // namespace syrtos::train
