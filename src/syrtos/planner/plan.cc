#include "syrtos/planner/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/planner/cuts.h"
#include "syrtos/planner/part_candidates.h"
#include "syrtos/planner/ranking.h"
#include "syrtos/planner/reason.h"
#include "syrtos/planner/units.h"
#include "syrtos/planner/what_if.h"

namespace syrtos::planner {

using strategy::Sync;

namespace {

constexpr double kGain = 0.05;
constexpr size_t kFew = 8;  // whoever asks for few wants to know them all

Candidate alone() { return {}; }

/// A plan in the making.
class Planner {
 public:
  Planner(const Workload& workload, const ClusterProfile& cluster, const PlanOptions& options)
      : workload_(workload), cluster_(cluster), options_(options) {
    plan_.goal = options.goal;
  }

  Plan make() {
    plan_.alone = predicted(alone());
    plan_.alone.speed_up = 1;
    check_memory();
    if (plan_.alone_fits) all_.push_back(plan_.alone);
    search();
    if (all_.empty()) take_least();
    rank(all_, options_.goal);
    left_ += options_.effort / 2;
    if (options_.detailed > 0) try_cuts();
    if (options_.detailed > 0 && options_.space.bucket_mb == 0) try_buckets();
    add_details();
    plan_.ranked = all_;
    plan_.choose();
    note_fastest();
    plan_.notes = notes_of(workload_, plan_);
    draw();
    if (options_.what_if && !stopped())
      plan_.what_ifs = what_ifs(workload_, cluster_, options_, plan_);
    return std::move(plan_);
  }

 private:
  struct Open {
    Candidate candidate;
    double bound;  // of an epoch
  };

  bool stopped() const { return options_.should_stop && options_.should_stop(); }
  void tell(double share, const std::string& what) const {
    if (options_.progress) options_.progress(share, what);
  }

  Prediction predicted(const Candidate& candidate) const {
    Prediction prediction;
    prediction.candidate = candidate;
    prediction.step = simulate(workload_, cluster_, candidate);
    finish(prediction);
    return prediction;
  }

  void finish(Prediction& prediction) const {
    const Candidate& candidate = prediction.candidate;
    const auto steps = static_cast<double>(steps_per_epoch(workload_, candidate));
    prediction.epoch_s = steps * prediction.step.seconds;
    prediction.low_s = prediction.high_s = prediction.epoch_s;
    if (plan_.alone.epoch_s > 0) prediction.speed_up = plan_.alone.epoch_s / prediction.epoch_s;
    prediction.memory = memory_of(workload_, candidate);
    prediction.hosts = hosts_of(cluster_, candidate);
    prediction.keeps_result = keeps_result(options_.space, candidate);
  }

  /// Whether there is effort left for simulating a candidate so many times; takes it.
  bool take_effort(const Candidate& candidate, int times) {
    const double effort = times * effort_of(workload_, cluster_, candidate);
    if (effort > left_) return false;
    left_ -= effort;
    return true;
  }

  void add_error_bar(Prediction& prediction) {
    ErrorBar bounds = plain_error_bar(workload_, cluster_, prediction.candidate, prediction.step);
    if (take_effort(prediction.candidate, 2)) {
      bounds = error_bar(workload_, cluster_, prediction.candidate);
    }
    const auto steps = static_cast<double>(steps_per_epoch(workload_, prediction.candidate));
    prediction.low_s = std::min(prediction.epoch_s, steps * bounds.low_s);
    prediction.high_s = std::max(prediction.epoch_s, steps * bounds.high_s);
  }

  /// Of the best few, of the best of each kind, and of what may be recommended.
  void add_details() {
    if (options_.detailed == 0) return;
    std::map<WayKind, int> seen;
    bool kept = false;
    int detailed = 0;
    for (size_t i = 0; i < all_.size() && !stopped(); ++i) {
      const bool first = seen[kind_of(all_[i].candidate)]++ == 0;
      const bool first_kept = all_[i].keeps_result && all_[i].candidate.workers > 1 && !kept;
      kept = kept || first_kept;
      const bool few = all_.size() <= kFew;
      if (i >= static_cast<size_t>(options_.detailed) && !first && !first_kept && !few) continue;
      tell(0.8 + 0.2 * detailed / (detailed + 8.0), "error bars and reasons");
      ++detailed;
      detail(all_[i]);
    }
  }

  void detail(Prediction& prediction) {
    add_error_bar(prediction);
    const bool thoroughly = take_effort(prediction.candidate, 3);
    prediction.reason =
        reason_of(workload_, cluster_, prediction.candidate, prediction.step, thoroughly);
  }

  /// Says by how much a network is too large, when no way of distributing it would fit.
  void check_memory() {
    plan_.alone_fits = fits_in_memory(workload_, cluster_, alone());
    all_candidates_ = candidates(options_.space, cluster_, workload_);
    plan_.considered = static_cast<int>(all_candidates_.size()) + 1;
    plan_.out_of_memory = static_cast<int>(std::erase_if(all_candidates_, [&](const Candidate& c) {
      return !fits_in_memory(workload_, cluster_, c);
    }));
    if (plan_.alone_fits || !all_candidates_.empty()) return;
    const HostProfile& host = cluster_.hosts[0];
    Workload smaller = workload_;
    int64_t& batch = smaller.batch;
    while (batch > 1 && memory_of(smaller, alone()) > host.memory) batch /= 2;
    const bool helps = memory_of(smaller, alone()) <= host.memory;
    std::string not_even =
        "not even a batch of 1 would fit, and no way of distributing it divides the weights: a "
        "smaller network, or hosts with more memory";
    if (const auto parts = least_memory_in_parts(options_.space, cluster_, workload_)) {
      not_even = fmt::format(
          "not even a batch of 1 would fit, and of {} parts the largest needs {}: more hosts, or "
          "hosts with so much memory",
          parts->way.options.split.parts, format_bytes(parts->bytes));
    }
    fail_request("{} with a batch of {} needs {} per worker, {} more than the {} of {}: {}",
                 workload_.compute.network, workload_.batch, format_bytes(plan_.alone.memory),
                 format_bytes(plan_.alone.memory - host.memory), format_bytes(host.memory),
                 host.name,
                 helps ? fmt::format("a batch of {} per worker would fit: use --batch {}, or split "
                                     "over {} workers or more",
                                     batch, batch, (workload_.batch + batch - 1) / batch)
                       : not_even);
  }

  double bound_of_epoch(const Candidate& candidate) const {
    const auto steps = static_cast<double>(steps_per_epoch(workload_, candidate));
    return steps * bound_seconds(workload_, cluster_, candidate);
  }

  /// Ways of one kind compete with each other, and each kind gets its share of the effort.
  void search() {
    std::map<WayKind, std::vector<Open>> kinds;
    for (const Candidate& candidate : all_candidates_) {
      kinds[kind_of(candidate)].push_back({candidate, bound_of_epoch(candidate)});
    }
    left_ = 0;
    double done = 0;
    for (auto& [kind, open] : kinds) {
      left_ += options_.effort / 2 / static_cast<double>(kinds.size());
      search(open, done);
      done += static_cast<double>(open.size());
    }
  }

  /// The most promising first, so that what comes late need not be simulated: its bound alone is
  /// far slower than what is known.
  void search(std::vector<Open>& open, double done) {
    std::stable_sort(open.begin(), open.end(),
                     [](const Open& a, const Open& b) { return a.bound < b.bound; });
    constexpr double kFar = 1.5;
    constexpr double kLargest = 0.1;  // of all effort, for one candidate
    double best = plan_.alone_fits ? plan_.alone.epoch_s : std::numeric_limits<double>::infinity();
    for (const auto& [candidate, bound] : open) {
      tell(0.8 * done++ / static_cast<double>(all_candidates_.size()),
           fmt::format("{} workers, {}", candidate.workers, way_of(candidate)));
      if (stopped()) break;
      if (bound > kFar * best && open.size() > kFew) continue;
      const double effort = effort_of(workload_, cluster_, candidate);
      if (effort > kLargest * options_.effort || !take_effort(candidate, 1)) {
        ++plan_.too_large;
        continue;
      }
      all_.push_back(predicted(candidate));
      ++plan_.simulated;
      best = std::min(best, all_.back().epoch_s);
    }
  }

  /// Where nothing was simulated, since all are large or somebody is in a hurry, the most promising
  /// one is: there is no plan without any way.
  void take_least() {
    const auto least = std::min_element(all_candidates_.begin(), all_candidates_.end(),
                                        [&](const Candidate& a, const Candidate& b) {
                                          return bound_of_epoch(a) < bound_of_epoch(b);
                                        });
    SYRTOS_CHECK(least != all_candidates_.end(), "no way at all");
    all_.push_back(predicted(*least));
    ++plan_.simulated;
  }

  /// Other cuts than the most promising ones, for the best ways in parts.
  void try_cuts() {
    if (!may_move_cuts(options_.space)) return;
    constexpr size_t kBest = 3;
    std::vector<Candidate> best;
    for (const Prediction& prediction : all_) {
      if (prediction.candidate.options.split.cuts() && best.size() < kBest) {
        best.push_back(prediction.candidate);
      }
    }
    for (Candidate& way : best) {
      constexpr int kMost = 40;
      const double effort = effort_of(workload_, cluster_, way);
      const int simulations = static_cast<int>(
          std::clamp(options_.effort / 20 / std::max(1.0, effort), 0.0, 1.0 * kMost));
      const bool consecutive = way.options.split.kind != strategy::Split::Kind::branches;
      if (stopped() || !consecutive || simulations == 0 || !take_effort(way, simulations)) continue;
      plan_.considered += simulations;
      plan_.simulated += simulations;
      strategy::Split split = best_cut(workload_, cluster_, way, simulations);
      if (split == way.options.split) continue;
      way.options.split = std::move(split);
      all_.push_back(predicted(way));
    }
    rank(all_, options_.goal);
  }

  /// Other sizes of buckets than the chosen one, for the best way of each kind.
  void try_buckets() {
    std::map<Sync::Kind, Candidate> best;
    for (const Prediction& prediction : all_) {
      if (prediction.candidate.replicas() > 1) {
        best.try_emplace(prediction.candidate.options.sync.kind, prediction.candidate);
      }
    }
    for (auto& [kind, candidate] : best) {
      for (const double megabytes : {0.5, 4.0, 25.0}) {
        candidate.options.bucket_mb = megabytes;
        if (stopped() || !take_effort(candidate, 1)) continue;
        all_.push_back(predicted(candidate));
        ++plan_.considered;
        ++plan_.simulated;
      }
    }
    rank(all_, options_.goal);
  }

  void note_fastest() {
    std::map<int, const Prediction*> best;
    for (const Prediction& prediction : plan_.ranked) {
      if (plan_.goal == Goal::result && !prediction.keeps_result) continue;
      const Prediction*& known = best[prediction.candidate.workers];
      if (known == nullptr || prediction.epoch_s < known->epoch_s) known = &prediction;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const Candidate& candidate : all_candidates_) {
      plan_.most_workers = std::max(plan_.most_workers, candidate.workers);
    }
    for (const auto& [workers, prediction] : best) {
      plan_.fastest.push_back(*prediction);
      least = std::min(least, prediction->epoch_s);
    }
    for (const Prediction& prediction : plan_.fastest) {
      plan_.gain_ends_at = prediction.candidate.workers;
      if (prediction.epoch_s <= (1 + kGain) * least) break;
    }
    if (plan_.best().candidate.workers == 1) plan_.gain_ends_at = 1;
  }

  /// The best way of each kind, with every number of workers that was simulated.
  void draw() {
    if (options_.detailed == 0) return;
    std::vector<std::string> ways;
    for (const Prediction* prediction : plan_.best_of_each_kind()) {
      if (prediction->candidate.workers > 1) ways.push_back(way_of(prediction->candidate));
    }
    for (const std::string& way : ways) {
      Curve curve{way, {plan_.alone}};
      for (const Prediction& prediction : plan_.ranked) {
        if (way_of(prediction.candidate) == way) curve.points.push_back(prediction);
      }
      for (Candidate candidate : all_candidates_) {  // that were not promising enough
        candidate.options.bucket_mb = curve.points.back().candidate.options.bucket_mb;
        const bool known = std::any_of(
            curve.points.begin(), curve.points.end(),
            [&](const Prediction& p) { return p.candidate.workers == candidate.workers; });
        if (known || way_of(candidate) != way || stopped() || !take_effort(candidate, 1)) continue;
        curve.points.push_back(predicted(candidate));
      }
      std::sort(curve.points.begin(), curve.points.end(),
                [](const Prediction& a, const Prediction& b) {
                  return a.candidate.workers < b.candidate.workers;
                });
      for (Prediction& point : curve.points) {
        if (point.low_s == point.high_s && !stopped()) add_error_bar(point);
      }
      plan_.curves.push_back(std::move(curve));
    }
  }

  const Workload& workload_;
  const ClusterProfile& cluster_;
  const PlanOptions& options_;
  std::vector<Candidate> all_candidates_;
  std::vector<Prediction> all_;
  double left_ = 0;  // of the effort
  Plan plan_;
};

}  // namespace

Plan make_plan(const Workload& workload, const ClusterProfile& cluster,
               const PlanOptions& options) {
  if (workload.replayed) return Planner(workload, cluster, options).make();
  const Workload believed = believable(workload);
  Plan plan = Planner(believed, cluster, options).make();
  const std::string doubt = strategy::doubt_of(workload.compute);
  if (doubt == strategy::doubt_of(believed.compute)) return plan;
  plan.notes.insert(plan.notes.begin(),
                    fmt::format("{}; planned with {} for a batch of {}", doubt,
                                format_short_time(believed.compute.pass_of(workload.batch).seconds),
                                workload.batch));
  return plan;
}

}  // namespace syrtos::planner
