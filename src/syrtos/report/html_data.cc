#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "syrtos/report/html_page.h"

namespace syrtos::report {

using nlohmann::json;

namespace {

constexpr size_t kMostPoints = 400;  // of a curve: more than a screen shows
constexpr int64_t kMostSteps = 120;  // points of a rank's steps, which differ a lot
constexpr size_t kMostCurves = 16;   // of one chart

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// Step times of each rank over the steps, as means of as many steps as there is room for.
json steps_json(const Run& run) {
  int64_t last = 0;
  for (const RunRank& rank : run.ranks) {
    if (!rank.records.empty() && !rank.per_epoch) {
      last = std::max(last, rank.records.back().step + rank.records.back().steps);
    }
  }
  if (last == 0) return nullptr;
  const int64_t wide = (last + kMostSteps - 1) / kMostSteps;
  const auto points = static_cast<size_t>((last + wide - 1) / wide);
  json xs = json::array(), ranks = json::array();
  for (size_t i = 0; i < points; ++i) xs.push_back(static_cast<int64_t>(i) * wide);
  for (const RunRank& rank : run.ranks) {
    if (ranks.size() == kMostCurves || rank.rank >= run.job.workers) break;  // servers come last
    std::vector<double> sums(points);
    std::vector<int64_t> steps(points);
    // The end of an epoch, with its meetings, is not like a step, unless all are like that.
    const auto ends_epoch = [](const trace::DivisionRecord& record) {
      return record.steps == 1 && record.division()[trace::Part::evaluate] > 0;
    };
    const bool others = !std::all_of(rank.records.begin(), rank.records.end(), ends_epoch);
    for (const trace::DivisionRecord& record : rank.records) {
      const auto at = static_cast<size_t>(
          std::clamp<int64_t>(record.step / wide, 0, static_cast<int64_t>(points) - 1));
      const trace::StepDivision division = record.division();
      if (others && ends_epoch(record)) continue;
      sums[at] +=
          division.sum() - division[trace::Part::evaluate] - division[trace::Part::checkpoint];
      steps[at] += record.steps;
    }
    json values = json::array();
    for (size_t i = 0; i < points; ++i) {
      values.push_back(steps[i] > 0 ? json(sums[i] / static_cast<double>(steps[i]))
                                    : json(nullptr));
    }
    ranks.push_back({{"name", rank.name()}, {"values", values}});
  }
  return {{"xs", xs}, {"ranks", ranks}};
}

/// Loss, score and speed within epochs, as means of as many points as there is room for.
json points_json(const Run& run) {
  const size_t wide = (run.points.size() + kMostPoints - 1) / kMostPoints;
  json xs = json::array(), loss = json::array(), score = json::array(), speed = json::array();
  for (size_t i = 0; i < run.points.size(); i += wide) {
    CurvePoint mean;
    const size_t end = std::min(run.points.size(), i + wide);
    for (size_t j = i; j < end; ++j) {
      const CurvePoint& point = run.points[j];
      mean.step = point.step;
      mean.loss += point.loss / static_cast<double>(end - i);
      mean.score += point.score / static_cast<double>(end - i);
      mean.images_per_s += point.images_per_s / static_cast<double>(end - i);
    }
    xs.push_back(mean.step);
    loss.push_back(number(mean.loss));
    score.push_back(number(mean.score));
    speed.push_back(number(mean.images_per_s));
  }
  return {{"xs", xs},
          {"metric", run.point_metric != nullptr ? run.point_metric->name : ""},
          {"loss", loss},
          {"score", score},
          {"images_per_s", speed}};
}

/// One quantity of all hosts over the seconds since the first sample of each.
json host_curve(const Run& run, double (*value)(const trace::HostSample&)) {
  std::map<int64_t, std::map<size_t, double>> table;  // second -> host -> value
  json series = json::array();
  const size_t hosts = std::min(run.hosts.size(), kMostCurves);
  for (const auto& [host, samples] : run.hosts) {
    const size_t i = series.size();
    if (i == hosts) break;
    const size_t every = std::max<size_t>(1, samples.size() / kMostPoints);
    for (size_t j = 0; j < samples.size(); j += every) {
      const double found = value(samples[j]);
      if (std::isfinite(found)) {
        table[(samples[j].time - samples.front().time) / 1'000'000'000][i] = found;
      }
    }
    series.push_back({{"name", host}, {"values", json::array()}});
  }
  json xs = json::array();
  for (const auto& [second, values] : table) {
    xs.push_back(second);
    for (size_t i = 0; i < hosts; ++i) {
      const auto found = values.find(i);
      series[i]["values"].push_back(found == values.end() ? json(nullptr) : json(found->second));
    }
  }
  return {{"xs", xs}, {"series", series}};
}

json hosts_json(const Run& run) {
  using trace::HostSample;
  return {
      {"busy", host_curve(run, [](const HostSample& s) { return s.user + s.system; })},
      {"network",
       host_curve(run, [](const HostSample& s) { return (s.network_in + s.network_out) * 1e-6; })},
      {"memory", host_curve(run, [](const HostSample& s) { return s.memory_used * 1e-9; })},
      {"running", host_curve(run, [](const HostSample& s) { return s.running; })}};
}

void add_exchange(json& page, const ExchangeProfile& exchange) {
  page["buckets"] = json::array();
  for (const BucketTimes& bucket : exchange.buckets) {
    page["buckets"].push_back({{"first_layer", bucket.first_layer},
                               {"last_layer", bucket.last_layer},
                               {"bytes", bucket.bytes},
                               {"ready_s", number(bucket.ready_s)},
                               {"arrived_s", number(bucket.arrived_s)},
                               {"exposed_s", number(bucket.exposed_s)}});
  }
  page["staleness"] = json::array();
  for (const auto& [updates, times] : exchange.staleness)
    page["staleness"].push_back({updates, times});
}

}  // namespace

json page_json(const Run& run, const Explanation& explanation) {
  json page = explain_json(run, explanation);
  page["live"] = false;
  page["banner"] = explanation.lost;
  if (json steps = steps_json(run); !steps.is_null()) page["steps"] = std::move(steps);
  if (!run.points.empty()) page["points"] = points_json(run);
  if (!run.hosts.empty()) page["hosts"] = hosts_json(run);
  if (run.exchange && run.job.workers > 1) add_exchange(page, *run.exchange);
  if (json timeline = timeline_json(run); !timeline.is_null())
    page["timeline"] = std::move(timeline);
  return page;
}

json comparison_json(const std::vector<Explained>& runs, const Comparison& comparison) {
  json page = compare_json(runs, comparison);
  json all = json::array();
  std::string name;
  for (size_t i = 0; i < runs.size(); ++i) {
    const auto& [run, explanation] = runs[i];
    name += (i == 0 ? "" : ", ") + run.name();
    json one = explain_json(run, explanation);
    one.erase("operators");
    one["label"] = comparison.names[i];
    if (!run.points.empty()) one["points"] = points_json(run);
    all.push_back(std::move(one));
  }
  return {{"name", name}, {"live", false}, {"comparison", page}, {"runs", all}};
}

}  // namespace syrtos::report
