#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "syrtos/planner/units.h"
#include "syrtos/report/explain_cpus.h"
#include "syrtos/report/explain_job.h"
#include "syrtos/report/explain_links.h"
#include "syrtos/report/explain_model.h"
#include "syrtos/report/explain_parts.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::Candidate;
using planner::ClusterProfile;
using planner::HostProfile;
using planner::Workload;
using trace::Part;

namespace {

constexpr double kLeastGain = 0.02;
constexpr int kMostFewer = 6;  // numbers of workers that are tried

class Adviser {
 public:
  Adviser(Explanation& explanation, const Run& run)
      : explanation_(explanation), run_(run), asked_(run) {}

  void advise(const ExplainOptions& options) {
    fewer_workers(options.simulate && model_.build(explanation_, run_));
    for (const Cause& cause : explanation_.causes) reckoned(cause);
    auto& advice = explanation_.advice;
    // What is not known stands behind the cause that it is for: it was added in their order.
    std::stable_sort(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) {
      if (a.other_hardware != b.other_hardware) return b.other_hardware;
      return a.speed_up > b.speed_up;
    });
    if (advice.size() > options.advice) advice.resize(options.advice);
  }

 private:
  void add(double speed_up, Certainty certainty, const std::string& what,
           const std::string& options = "", bool other_hardware = false) {
    if (certainty != Certainty::open && !(speed_up >= 1 + kLeastGain)) return;
    explanation_.advice.push_back({.what = clean_text(what),
                                   .options = options,
                                   .speed_up = speed_up,
                                   .certainty = certainty,
                                   .other_hardware = other_hardware});
  }
  /// Only if the changed job would be taken, and is another one.
  void change(double speed_up, Certainty certainty, const std::vector<JobChange>& changes,
              const std::string& what) {
    if (certainty != Certainty::open && !(speed_up >= 1 + kLeastGain)) return;
    const std::string options = asked_.options(changes);
    if (!options.empty()) add(speed_up, certainty, what, options);
  }

  /// If so much of all the time were gone.
  double without(double share) const { return 1 / (1 - std::min(0.95, share)); }

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
      bf16.options.wire = {.kind = strategy::Wire::Kind::bf16};
      change(of_network(model_.speed_up(bf16, model_.workload(), model_.cluster())),
             Certainty::simulated, {{"distribute.wire", "bf16"}},
             "half the bytes for a gradient (rounded: the result changes a little)");
    }
    other_exchanges();
    if (options.sync.sees_all_gradients() && !options.sync.splits_batch()) {
      Workload larger = model_.workload();
      larger.batch *= 2;
      change(model_.speed_up(model_.actual(), larger, model_.cluster()), Certainty::simulated,
             {{"batch", fmt::format("{}", larger.batch)}},
             "twice the samples for one exchange (the result changes: adapt the learning rate)");
    }
    repaired_link();
    ClusterProfile faster = model_.cluster();
    if (faster.hosts.size() > 1) {
      for (HostProfile& host : faster.hosts) host.bandwidth *= 10;
      add(of_network(model_.speed_up(model_.actual(), model_.workload(), faster)),
          Certainty::simulated, "a network that is ten times as fast" + carried(), "", true);
    }
  }

  /// What links were seen to carry, which is less than they can where nobody was in a hurry.
  std::string carried() const {
    std::vector<double> rates;
    for (const auto& [host, rate] : host_rates(run_)) rates.push_back(rate);
    if (rates.empty()) return "";
    std::sort(rates.begin(), rates.end());
    return fmt::format(" (bytes now move at up to {})",
                       planner::format_bandwidth(rates[rates.size() / 2]));
  }

  void other_exchanges() {
    const auto& before = model_.actual().options;
    Candidate best;
    double most = 0;
    using Kind = strategy::Exchange::Kind;
    for (const Kind kind : {Kind::all_reduce, Kind::colocated}) {
      Candidate candidate = model_.actual();
      candidate.options.exchange = {.kind = kind};
      if (candidate.options.exchange.kind == before.exchange.kind) continue;
      candidate.options.update = default_update(candidate.options.exchange);
      const double gain = model_.speed_up(candidate, model_.workload(), model_.cluster());
      if (gain > most) {
        most = gain;
        best = candidate;
      }
    }
    if (most <= 0) return;
    change(
        of_network(most), Certainty::simulated,
        {{"distribute.exchange", to_string(best.options.exchange)}, {"distribute.update", "auto"}},
        "another way for the same bytes");
  }

  void repaired_link() {
    const std::optional<SlowLink> slow = slow_link(run_);
    if (!slow || slow->host.empty()) return;
    ClusterProfile even = model_.cluster();
    double best = 0;
    for (const HostProfile& host : even.hosts) best = std::max(best, host.bandwidth);
    for (HostProfile& host : even.hosts) host.bandwidth = best;
    add(of_network(model_.speed_up(model_.actual(), model_.workload(), even)), Certainty::simulated,
        fmt::format("repair the link of host {}, so that it is like the others", slow->host));
  }

  /// Also whether to distribute at all.
  void fewer_workers(bool modelled) {
    if (modelled) simulated();
    const auto [host, alone] = alone_rate();
    const double gain = explanation_.images_per_s > 0 ? alone / explanation_.images_per_s : 0;
    Fewer fewer;
    if (modelled && model_.actual().servers() == 0) fewer = best_of_fewer();
    const double most = fewer.gain;
    if (gain >= most) {
      change(gain, Certainty::reckoned, alone_changes(),
             fmt::format("do not distribute: {} alone trains {:.0f} samples/s, {} together {:.0f}",
                         host, alone, run_.job.workers, explanation_.images_per_s));
      return;
    }
    const std::string options =
        asked_.options({{"distribute.workers", fmt::format("{}", fewer.workers)}});
    if (!(most >= 1 + kLeastGain) || options.empty()) return;
    add(most, Certainty::simulated,
        fmt::format("fewer workers are faster{}{}", fewer.without(),
                    run_.job.strategy.sync.splits_batch()
                        ? ""
                        : " (the batch of all together is smaller: the result changes)"),
        options + fewer.hosts_option());
  }

  /// A run on some of the hosts.
  struct Fewer {
    double gain = 0;
    int workers = 0;
    std::vector<std::string> kept;
    std::vector<std::string> left_out;
    bool are_the_first = true;  ///< of all: those that --workers alone would take

    std::string without() const {
      if (are_the_first) return "";
      return fmt::format(", without host{} {}", left_out.size() == 1 ? "" : "s",
                         fmt::join(left_out, ", "));
    }
    std::string hosts_option() const {
      return are_the_first ? "" : fmt::format(" --hosts {}", fmt::join(kept, ","));
    }
  };

  /// Without the slowest host first: the others wait for it. Of equal ones the last goes.
  Fewer best_of_fewer() const {
    ClusterProfile hosts = model_.cluster();
    const auto strength = [](const HostProfile& host) { return host.speed * host.bandwidth; };
    Fewer best;
    std::vector<std::string> left_out;
    Candidate candidate = model_.actual();
    for (int i = 0; i < kMostFewer && hosts.hosts.size() > 2; ++i) {
      auto slowest = hosts.hosts.end() - 1;
      for (auto host = hosts.hosts.begin(); host != hosts.hosts.end(); ++host) {
        if (strength(*host) < 0.95 * strength(*slowest)) slowest = host;
      }
      left_out.push_back(slowest->name);
      candidate.workers -= slowest->slots;
      hosts.hosts.erase(slowest);
      if (candidate.workers < 2) break;
      const double gain = model_.speed_up(candidate, model_.workload(), hosts);
      if (gain <= best.gain) continue;
      best = {};
      best.gain = gain;
      best.workers = candidate.workers;
      best.left_out = left_out;
      for (size_t k = 0; k < hosts.hosts.size(); ++k) {
        best.kept.push_back(hosts.hosts[k].name);
        best.are_the_first &= hosts.hosts[k].name == model_.cluster().hosts[k].name;
      }
    }
    return best;
  }

  /// The host that computes fastest, and the images per second that it would train alone.
  std::pair<std::string, double> alone_rate() const {
    if (run_.job.workers < 2 || run_.job.in_parts() || explanation_.ranks.empty()) return {};
    const auto busy = [](const RankTime& rank) { return rank.computing() + rank.step[Part::load]; };
    const RankTime& best =
        *std::min_element(explanation_.ranks.begin(), explanation_.ranks.end(),
                          [&](const RankTime& a, const RankTime& b) { return busy(a) < busy(b); });
    double update = best.step[Part::update];
    for (const RankTime& server : explanation_.servers) {
      update = std::max(update, server.step[Part::update]);
    }
    const double seconds = busy(best) + best.step[Part::other] + update - best.step[Part::update];
    if (seconds <= 0) return {};
    return {best.host.empty() ? best.name : "host " + best.host,
            static_cast<double>(run_.job.worker_batch()) / seconds};
  }
  std::vector<JobChange> alone_changes() const {
    return {{"distribute.workers", "1"},   {"distribute.exchange", "allreduce"},
            {"distribute.sync", "join"},   {"distribute.wire", "f32"},
            {"distribute.update", "auto"}, {"distribute.batch_norm", "local"},
            {"distribute.split", "none"}};
  }

  void reckoned(const Cause& cause) {
    const double gone = without(cause.share);
    switch (cause.kind) {
      case CauseKind::loader:
        change(gone, Certainty::at_most, {{"data.prefetch", "4"}}, "batches are prepared ahead");
        add(gone, Certainty::at_most,
            "prepare batches faster: a pack ('syrtos data pack'), a local disk, --cache memory for "
            "folders of pictures, or fewer --threads so that cores are left for loading");
        break;
      case CauseKind::slow_rank:
        add(gone, Certainty::at_most,
            "free or repair the slow host, so that it computes like the others");
        break;
      case CauseKind::slow_link:
        if (!has_simulated()) {
          add(gone, Certainty::at_most, "repair the slow link, so that it is like the others");
        }
        break;
      case CauseKind::cpus:
        too_many_threads(cause);
        break;
      case CauseKind::pause:
        add(gone, Certainty::reckoned,
            "look what else that host did at that moment: a backup, swapping, a machine that was "
            "moved or suspended");
        break;
      case CauseKind::operation:
        if (run_.job.precision == "f32") {
          change(1, Certainty::open, {{"precision", "bf16"}},
                 "half the bytes for the slow operator ('syrtos probe compute' tries it)");
        }
        break;
      case CauseKind::evaluation:
        evaluate_less(cause);
        break;
      case CauseKind::checkpoint:
        save_less(cause);
        break;
      case CauseKind::exchange:
        if (!has_simulated() && run_.job.strategy.wire.exact()) {
          change(gone, Certainty::at_most, {{"distribute.wire", "bf16"}},
                 "half the bytes for a gradient (rounded: the result changes a little)");
        }
        break;
      case CauseKind::latency:
        change(gone, Certainty::at_most, {{"distribute.sync", "local:4"}},
               "an exchange every fourth step (the result changes)");
        break;
      case CauseKind::server:
        if (!has_simulated()) {
          change(gone, Certainty::at_most,
                 {{"distribute.exchange", "ps-colocated"}, {"distribute.update", "auto"}},
                 "every worker serves a part");
        }
        break;
      case CauseKind::small_batch:
        larger_batch(gone);
        break;
      case CauseKind::uneven:
        if (run_.job.strategy.sync.sees_all_gradients()) {
          change(gone, Certainty::at_most, {{"distribute.sync", "local:4"}},
                 "ranks wait for each other every fourth step only (the result changes)");
        }
        break;
      case CauseKind::parts:
        parts_that_wait(gone);
        break;
      case CauseKind::start:
      case CauseKind::other:
        break;
    }
  }

  void parts_that_wait(double gone) {
    const WaitingParts waits = waiting_parts(explanation_, run_);
    if (waits.more_micro_batches > 0) {
      change(without(waits.more_gain), Certainty::reckoned,
             {{"accumulate", fmt::format("{}", waits.more_micro_batches)}},
             "more micro-batches, so that parts wait less for the first and the last one");
    }
    const std::optional<job::Job> job = asked_.job();
    if (!job) return;
    if (const auto cut = evener_cut(waits, explanation_, *job)) {
      change(without(std::min(cut->gain, 1 - 1 / gone)), Certainty::reckoned,
             {{"distribute.split", cut->split}},
             fmt::format("parts that are even: move {}", cut->moves));
    }
  }

  void too_many_threads(const Cause& cause) {
    const std::optional<TooFewCpus> found = too_few_cpus(explanation_, run_);
    if (found && found->others) {
      add(without(cause.share), Certainty::open, "end what else runs there, or train elsewhere");
      return;
    }
    if (found && found->threads > 0) {
      change(without(cause.share), Certainty::open,
             {{"threads", fmt::format("{}", found->threads)}}, "a core for each thread");
    }
    if (run_.job.workers > 1) {
      change(1, Certainty::open, alone_changes(),
             "one worker that has all cores of the machine does not share them");
    }
  }

  /// Sixteen times as large, up to what is usual: what a step costs once is shared by more.
  void larger_batch(double gone) {
    const int64_t batch = std::min<int64_t>(64, 16 * run_.job.batch);
    if (batch <= run_.job.batch) return;
    change(gone, Certainty::open, {{"batch", fmt::format("{}", batch)}},
           "what a step costs once is shared by more samples (the result changes: adapt the "
           "learning rate)");
  }

  /// Of so many epochs with --evaluate-every.
  static int64_t evaluations(int64_t epochs, int64_t every) {
    return epochs / every + (epochs % every == 0 ? 0 : 1);
  }
  void evaluate_less(const Cause& cause) {
    const job::JobRequest* request = asked_.request();
    if (request == nullptr || request->evaluate_every < 1) return;
    const auto done = static_cast<int64_t>(run_.epochs.size());
    const int64_t epochs = run_.complete() ? done : std::max(done, request->epochs);
    const int64_t every = 5 * request->evaluate_every;
    const auto now = static_cast<double>(evaluations(epochs, request->evaluate_every));
    const auto then = static_cast<double>(evaluations(epochs, every));
    if (epochs < 2 || then >= now) return;
    change(without(cause.share * (1 - then / now)), Certainty::reckoned,
           {{"evaluate.every", fmt::format("{}", every)}}, "the last epoch is always evaluated");
  }

  /// After each epoch it is saved anyway.
  void save_less(const Cause& cause) {
    const job::JobRequest* request = asked_.request();
    if (request == nullptr || request->checkpoint_every < 1 || run_.parts.empty()) return;
    const int64_t steps = run_.parts.back().last_step;
    const auto epochs = static_cast<int64_t>(run_.epochs.size());
    const int64_t now = steps / request->checkpoint_every + epochs;
    const int64_t then = steps / (10 * request->checkpoint_every) + epochs;
    if (then >= now) return;
    change(without(cause.share * (1 - static_cast<double>(then) / static_cast<double>(now))),
           Certainty::reckoned,
           {{"checkpoint_every", fmt::format("{}", 10 * request->checkpoint_every)}},
           "save less often");
  }

  bool has_simulated() const {
    const auto& advice = explanation_.advice;
    return std::any_of(advice.begin(), advice.end(),
                       [](const Advice& one) { return one.certainty == Certainty::simulated; });
  }

  Explanation& explanation_;
  const Run& run_;
  const AskedAgain asked_;
  RunModel model_;
};

}  // namespace

void find_advice(Explanation& explanation, const Run& run, const ExplainOptions& options) {
  if (explanation.step_s <= 0 || options.advice == 0) return;
  Adviser(explanation, run).advise(options);
}

}  // namespace syrtos::report
