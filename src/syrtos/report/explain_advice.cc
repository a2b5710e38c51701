#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/planner/candidates.h"
#include "syrtos/planner/simulate.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::Candidate;
using planner::ClusterProfile;
using planner::HostProfile;
using planner::Workload;
using trace::Part;

namespace {

constexpr double kMostEffort = 2e6;  // messages: about two seconds in all
constexpr double kLeastGain = 0.01;

/// The run as the planner sees it: measured passes, and links as fast as they must have been for
/// the step to take as long as it did.
class Model {
 public:
  /// False where the run does not know enough, or the simulation would take too long.
  bool build(const Explanation& explanation, const Run& run) {
    if (!run.exchange || run.exchange->buckets.empty() || run.job.workers < 2 ||
        run.job.batch < 1 || explanation.ranks.size() != static_cast<size_t>(run.job.workers) ||
        explanation.step_s <= 0 || !run.job.strategy_known ||
        run.job.strategy.exchange.shares_memory()) {
      return false;
    }
    actual_.workers = static_cast<int>(run.job.workers);
    actual_.options = run.job.strategy;
    build_workload(explanation, run);
    build_cluster(explanation);
    if (effort_of(workload_, cluster_, actual_) > kMostEffort / 2) return false;
    calibrate(busy_seconds(explanation));
    return true;
  }

  /// Images per second against the run's own, simulated both; nothing when it cannot be.
  double speed_up(const Candidate& candidate, const Workload& workload,
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

  const Candidate& actual() const { return actual_; }
  const Workload& workload() const { return workload_; }
  const ClusterProfile& cluster() const { return cluster_; }

 private:
  /// A step without what the simulation does not have: waiting for whoever saves or is late by
  /// chance. Waiting for a slow rank or a server it has.
  double busy_seconds(const Explanation& explanation) const {
    if (!explanation.in_step) return explanation.step_s;
    double longest = 0;
    for (const RankTime& rank : explanation.ranks) {
      longest = std::max(longest, rank.seconds() - rank.step[Part::wait]);
    }
    return actual_.servers() > 0 ? longest + unexplained_wait(explanation) : longest;
  }

  void build_workload(const Explanation& explanation, const Run& run) {
    // The fastest rank stands for the network, hosts that are slower have a lower speed.
    const RankTime& first = *std::min_element(
        explanation.ranks.begin(), explanation.ranks.end(),
        [](const RankTime& a, const RankTime& b) { return a.computing() < b.computing(); });
    workload_.batch = run.job.batch;
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

  void build_cluster(const Explanation& explanation) {
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
  }

  void set_bandwidth(double bytes_per_s) {
    for (HostProfile& host : cluster_.hosts) {
      (cluster_.hosts.size() == 1 ? host.memory_bandwidth : host.bandwidth) = bytes_per_s;
    }
  }

  void calibrate(double measured_s) {
    double low = 1e5, high = 1e11;
    for (int i = 0; i < 18 && high / low > 1.02; ++i) {
      const double middle = std::sqrt(low * high);
      set_bandwidth(middle);
      base_s_ = simulate(workload_, cluster_, actual_).seconds;
      (base_s_ > measured_s ? low : high) = middle;
    }
  }

  Workload workload_;
  ClusterProfile cluster_;
  Candidate actual_;
  double base_s_ = 0;
};

class Adviser {
 public:
  Adviser(Explanation& explanation, const Run& run) : explanation_(explanation), run_(run) {}

  void advise(const ExplainOptions& options) {
    if (options.simulate && model_.build(explanation_, run_)) simulated();
    for (const Cause& cause : explanation_.causes) reckoned(cause);
    auto& advice = explanation_.advice;
    std::stable_sort(advice.begin(), advice.end(),
                     [](const Advice& a, const Advice& b) { return a.speed_up > b.speed_up; });
    if (advice.size() > options.advice) advice.resize(options.advice);
  }

 private:
  void add(double speed_up, bool is_simulated, const std::string& what) {
    if (speed_up < 1 + kLeastGain) return;
    explanation_.advice.push_back({.what = clean_text(what),
                                   .saves_s = explanation_.step_s * (1 - 1 / speed_up),
                                   .speed_up = speed_up,
                                   .simulated = is_simulated});
  }
  void saves(double seconds, const std::string& what) {
    add(explanation_.step_s / std::max(0.05 * explanation_.step_s, explanation_.step_s - seconds),
        false, what);
  }
  /// No faster network and no fewer bytes save more than was exposed.
  double of_network(double speed_up) const {
    const double step = explanation_.step_s;
    double exposed = explanation_.cluster.step[Part::network];
    if (model_.actual().options.exchange.uses_servers() || !explanation_.in_step) {
      exposed += explanation_.cluster.step[Part::wait];
    }
    return std::min(speed_up, step / std::max(0.05 * step, step - exposed));
  }

  void simulated() {
    const auto& options = model_.actual().options;
    if (options.wire.exact()) {
      Candidate bf16 = model_.actual();
      bf16.options.wire = strategy::parse_wire("bf16");
      add(of_network(model_.speed_up(bf16, model_.workload(), model_.cluster())), true,
          "--wire bf16: half the bytes for a gradient");
    }
    other_exchanges();
    if (options.sync.sees_all_gradients()) {
      Workload larger = model_.workload();
      larger.batch *= 2;
      add(model_.speed_up(model_.actual(), larger, model_.cluster()), true,
          fmt::format(
              "--batch {}: twice the samples for one exchange (the result changes: adapt the "
              "learning rate)",
              larger.batch));
    }
    without_slow_host();
    ClusterProfile faster = model_.cluster();
    if (faster.hosts.size() > 1) {
      const double now = faster.hosts.front().bandwidth;
      for (HostProfile& host : faster.hosts) host.bandwidth *= 10;
      add(of_network(model_.speed_up(model_.actual(), model_.workload(), faster)), true,
          fmt::format("a network that is ten times as fast (it now carries about {} a host)",
                      planner::format_bandwidth(now)));
    }
  }

  void other_exchanges() {
    Candidate best;
    double most = 0;
    for (const char* name : {"allreduce", "ps-colocated"}) {
      Candidate candidate = model_.actual();
      candidate.options.exchange = strategy::parse_exchange(name);
      if (candidate.options.exchange.kind == model_.actual().options.exchange.kind) continue;
      candidate.options.update = default_update(candidate.options.exchange);
      const double gain = model_.speed_up(candidate, model_.workload(), model_.cluster());
      if (gain > most) {
        most = gain;
        best = candidate;
      }
    }
    if (most > 0) {
      add(of_network(most), true,
          fmt::format("--exchange {}: another way for the same bytes",
                      to_string(best.options.exchange)));
    }
  }

  void without_slow_host() {
    const ClusterProfile& all = model_.cluster();
    if (all.hosts.size() < 3 || model_.actual().servers() > 0) return;
    const auto slow = std::min_element(
        all.hosts.begin(), all.hosts.end(),
        [](const HostProfile& a, const HostProfile& b) { return a.speed < b.speed; });
    if (slow->speed > 0.95) return;
    ClusterProfile others = all;
    others.hosts.erase(others.hosts.begin() + (slow - all.hosts.begin()));
    Candidate fewer = model_.actual();
    fewer.workers -= slow->slots;
    add(model_.speed_up(fewer, model_.workload(), others), true,
        fmt::format("--workers {}, without host {}: the others would not wait for it",
                    fewer.workers, slow->name));
  }

  void reckoned(const Cause& cause) {
    switch (cause.kind) {
      case CauseKind::loader:
        saves(
            cause.seconds,
            "prepare batches faster: --cache memory, a pack ('syrtos data pack'), a local disk, or "
            "fewer --threads so that cores are left for loading");
        break;
      case CauseKind::slow_rank:
        saves(cause.seconds,
              one_host() ? "ranks of one host compete for its cores: fewer --workers or --threads"
                         : "free or repair the slow host, so that it computes like the others");
        break;
      case CauseKind::slow_link:
        saves(cause.seconds, "repair the slow link, so that it is like the others");
        break;
      case CauseKind::operation:
        saves(cause.seconds,
              "another --batch or --precision for the slow operator ('syrtos probe compute' tries "
              "them); at half of what the machine can do");
        break;
      case CauseKind::evaluation:
        add(all_s() / (all_s() - 0.8 * cause.seconds), false,
            "--evaluate-every 5: the last epoch is always evaluated");
        break;
      case CauseKind::checkpoint:
        add(all_s() / (all_s() - 0.8 * cause.seconds), false,
            "save less often (--checkpoint-every), or to a faster disk");
        break;
      case CauseKind::exchange:
        if (!has_simulated() && run_.job.strategy.wire.exact()) {
          saves(cause.seconds / 2, "--wire bf16: half the bytes for a gradient");
        }
        break;
      case CauseKind::latency:
        saves(cause.seconds / 2, "fewer, larger buckets (--bucket-mb), or a larger --batch");
        break;
      case CauseKind::server:
        if (!has_simulated()) {
          saves(cause.seconds / 2, "--exchange ps-colocated: every worker serves a part");
        }
        break;
      case CauseKind::small_batch:
        saves(cause.seconds / 2,
              "a larger --batch: what a step costs once is shared by more samples");
        break;
      case CauseKind::uneven:
        if (run_.job.strategy.sync.sees_all_gradients()) {
          saves(cause.seconds / 2,
                "--sync local:4: ranks wait for each other every fourth step only (the result "
                "changes)");
        }
        break;
      case CauseKind::other:
        break;
    }
  }

  bool one_host() const {
    const std::vector<RankTime>& ranks = explanation_.ranks;
    return std::all_of(ranks.begin(), ranks.end(), [&](const RankTime& rank) {
      return !rank.host.empty() && rank.host == ranks.front().host;
    });
  }
  double all_s() const { return explanation_.cluster.step.sum(); }
  bool has_simulated() const {
    return std::any_of(explanation_.advice.begin(), explanation_.advice.end(),
                       [](const Advice& advice) { return advice.simulated; });
  }

  Explanation& explanation_;
  const Run& run_;
  Model model_;
};

}  // namespace

void find_advice(Explanation& explanation, const Run& run, const ExplainOptions& options) {
  if (explanation.step_s <= 0) return;
  Adviser(explanation, run).advise(options);
}

}  // namespace syrtos::report
