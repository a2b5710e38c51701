#include "syrtos/report/explain_model.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/planner/candidates.h"
#include "syrtos/report/explain_links.h"

namespace syrtos::report {

using planner::Candidate;
using planner::ClusterProfile;
using planner::HostProfile;
using planner::Workload;
using trace::Part;

namespace {

constexpr double kMostEffort = 2e6;  // messages: about two seconds in all
constexpr double kSlowShare = 0.6;   // of the fastest link: below, it is no chance

}  // namespace

bool RunModel::build(const Explanation& explanation, const Run& run) {
  if (!run.exchange || run.exchange->buckets.empty() || run.job.workers < 2 || run.job.batch < 1 ||
      explanation.ranks.size() != static_cast<size_t>(run.job.workers) || explanation.step_s <= 0 ||
      !run.job.strategy_known || run.job.strategy.exchange.shares_memory() ||
      !(run.job.strategy.split == strategy::Split::none())) {  // activations are in no bucket
    return false;
  }
  actual_.workers = static_cast<int>(run.job.workers);
  actual_.options = run.job.strategy;
  build_workload(explanation, run);
  build_cluster(explanation, run);
  if (effort_of(workload_, cluster_, actual_) > kMostEffort / 2) return false;
  calibrate(busy_seconds(explanation));
  return true;
}

double RunModel::speed_up(const Candidate& candidate, const Workload& workload,
                          const ClusterProfile& cluster) const {
  try {
    if (!planner::fits(cluster, candidate)) return 0;
    if (effort_of(workload, cluster, candidate) > kMostEffort) return 0;
    const double seconds = simulate(workload, cluster, candidate).seconds;
    if (seconds <= 0 || base_s_ <= 0) return 0;
    const auto samples = static_cast<double>(step_samples(workload, candidate));
    const auto before = static_cast<double>(step_samples(workload_, actual_));
    return samples / seconds / (before / base_s_);
  } catch (const RequestError&) {
    return 0;
  }
}

/// A step without what the simulation does not have: waiting for whoever saves or is late by
/// chance. Waiting for a slow rank or a server it has.
double RunModel::busy_seconds(const Explanation& explanation) const {
  if (!explanation.in_step) return explanation.step_s;
  double longest = 0;
  for (const RankTime& rank : explanation.ranks) {
    longest = std::max(longest, rank.seconds() - rank.step[Part::wait]);
  }
  const bool links_differ =
      std::any_of(relative_.begin(), relative_.end(), [](double ratio) { return ratio < 1; });
  return actual_.servers() > 0 || links_differ ? longest + unexplained_wait(explanation) : longest;
}

void RunModel::build_workload(const Explanation& explanation, const Run& run) {
  // The fastest rank stands for the network, hosts that are slower have a lower speed.
  const RankTime& first = *std::min_element(
      explanation.ranks.begin(), explanation.ranks.end(),
      [](const RankTime& a, const RankTime& b) { return a.computing() < b.computing(); });
  workload_.batch = run.job.batch;
  workload_.replayed = run.job.replayed;
  workload_.samples = run.epochs.empty() ? run.job.batch * 100 : run.epochs.back().samples;
  auto& times = workload_.compute;
  times.network = run.job.network;
  times.update_s = first.step[Part::update];
  auto& pass = times.passes.emplace_back();
  pass.batch = planner::worker_batch(workload_, actual_);
  pass.seconds = first.step[Part::forward] + first.step[Part::backward];
  pass.load_s = first.step[Part::load] + first.step[Part::other];
  const double forward = first.step[Part::forward];
  const auto& buckets = run.exchange->buckets;
  double latest = 0;
  for (const BucketTimes& bucket : buckets) latest = std::max(latest, bucket.ready_s);
  // Buckets are in the order in which the backward pass finishes them.
  for (size_t i = 0; i < buckets.size(); ++i) {
    times.tensors.push_back(std::max<size_t>(1, static_cast<size_t>(buckets[i].bytes / 4)));
    const double from_end = static_cast<double>(buckets.size() - 1 - i);
    pass.needed.push_back(forward * from_end / static_cast<double>(buckets.size()));
    const double share = latest > 0 ? buckets[i].ready_s / latest : 1;
    pass.ready.push_back(std::clamp(share * pass.seconds, forward, pass.seconds));
  }
}

void RunModel::build_cluster(const Explanation& explanation, const Run& run) {
  double fastest = INFINITY;
  for (const RankTime& rank : explanation.ranks) fastest = std::min(fastest, rank.computing());
  for (const RankTime& rank : explanation.ranks) {
    const std::string name = rank.host.empty() ? "host" : rank.host;
    const double speed = rank.computing() > 0 ? fastest / rank.computing() : 1;
    if (!cluster_.hosts.empty() && cluster_.hosts.back().name == name) {
      cluster_.hosts.back().slots += 1;
      cluster_.hosts.back().speed = std::min(cluster_.hosts.back().speed, speed);
    } else {
      HostProfile host;
      host.name = name;
      host.speed = speed;
      cluster_.hosts.push_back(host);
    }
  }
  cluster_.hosts.back().slots += actual_.servers();
  // A slow link stays slower than the others, whatever they are found to carry.
  const std::map<std::string, double> rates = host_rates(run);
  double best = 0;
  for (const auto& [host, rate] : rates) best = std::max(best, rate);
  for (const HostProfile& host : cluster_.hosts) {
    const auto found = rates.find(host.name);
    const double ratio = found == rates.end() || best <= 0 ? 1 : found->second / best;
    relative_.push_back(ratio < kSlowShare ? ratio : 1);
  }
}

void RunModel::set_bandwidth(double bytes_per_s) {
  for (size_t i = 0; i < cluster_.hosts.size(); ++i) {
    HostProfile& host = cluster_.hosts[i];
    (cluster_.hosts.size() == 1 ? host.memory_bandwidth : host.bandwidth) =
        bytes_per_s * relative_[i];
  }
}

void RunModel::calibrate(double measured_s) {
  double low = 1e5, high = 1e11;
  for (int i = 0; i < 18 && high / low > 1.02; ++i) {
    const double middle = std::sqrt(low * high);
    set_bandwidth(middle);
    base_s_ = simulate(workload_, cluster_, actual_).seconds;
    (base_s_ > measured_s ? low : high) = middle;
  }
}

}  // namespace syrtos::report
