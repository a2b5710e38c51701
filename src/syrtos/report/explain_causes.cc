#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "syrtos/base/format.h"
#include "syrtos/base/statistics.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/explain_cpus.h"
#include "syrtos/report/explain_links.h"
#include "syrtos/report/explain_parts.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::format_short_time;
using trace::Part;

namespace {

constexpr double kWorthSaying = 0.01;  // of the time
constexpr double kSlower = 1.05;       // than the others: beyond what varies anyway
constexpr double kFarBelowRoofline = 0.25;
constexpr double kGoodKernel = 0.5;     // of the roofline
constexpr int64_t kSmallBatch = 16;     // samples
constexpr double kSmallMessage = 32e3;  // bytes: below, latency decides
constexpr double kMoreInLine = 0.1;     // more than others: a neighbour takes CPUs
constexpr double kFirst = 0.05;         // of the time: a slow link that was measured comes first
constexpr double kLatency = 60e-6;      // of a message on Ethernet

template <typename Value>
double median_of_others(const std::vector<RankTime>& ranks, int without, Value value) {
  std::vector<double> values;
  for (const RankTime& rank : ranks) {
    if (rank.rank != without) values.push_back(value(rank));
  }
  return median(std::move(values));
}

/// Means over a host's curve.
struct HostMeans {
  double process_cpu = NAN, busy = NAN, running = NAN, iowait = NAN;
};
HostMeans means_of(const std::vector<trace::HostSample>& samples) {
  HostMeans means;
  double seconds = 0, cpu = 0, busy = 0, running = 0, iowait = 0;
  for (const trace::HostSample& sample : samples) {
    if (!std::isfinite(sample.seconds) || !std::isfinite(sample.process_cpu) ||
        !std::isfinite(sample.user) || !std::isfinite(sample.running)) {
      continue;
    }
    seconds += sample.seconds;
    cpu += sample.seconds * sample.process_cpu;
    busy += sample.seconds * (sample.user + sample.system);
    running += sample.seconds * sample.running;
    iowait += sample.seconds * sample.iowait;
  }
  if (seconds > 0) means = {cpu / seconds, busy / seconds, running / seconds, iowait / seconds};
  return means;
}

class Finder {
 public:
  Finder(Explanation& explanation, const Run& run)
      : explanation_(explanation),
        run_(run),
        ranks_(explanation.ranks),
        all_(explanation.cluster.step) {}

  void find() {
    too_few_ = too_few_cpus(explanation_, run_);
    loader();
    const WaitingParts waits = waiting_parts(explanation_, run_);
    add(CauseKind::parts, waits.seconds, waits.text);
    if ((!too_few_ || too_few_->others) && !run_.job.in_parts()) slow_rank();
    // Whom others take CPUs from is the slow one, if there is one.
    if (too_few_ && slow_rank_s_ == 0) add(CauseKind::cpus, too_few_->seconds, too_few_->text);
    links_and_exchange();
    uneven();
    small_batch();
    operators();
    rest();
    pauses();
    start_and_end();
    auto& causes = explanation_.causes;
    const auto comes_first = [&](const Cause& cause) {
      return cause.kind == CauseKind::slow_link && measured_link_ && cause.share > kFirst;
    };
    std::stable_sort(causes.begin(), causes.end(), [&](const Cause& a, const Cause& b) {
      if (comes_first(a) != comes_first(b)) return comes_first(a);
      return a.share > b.share;
    });
  }

 private:
  void add(CauseKind kind, double seconds, const std::string& text) {
    const double share = std::min(1.0, seconds / explanation_.whole_s);
    if (share < kWorthSaying) return;
    explanation_.causes.push_back({kind, clean_text(text), seconds, share});
  }
  void add_once(CauseKind kind, double seconds, const std::string& text) {
    const double share = std::min(1.0, seconds / (explanation_.whole_s * all_steps()));
    if (share < kWorthSaying) return;
    explanation_.causes.push_back({kind, clean_text(text), seconds, share, true});
  }
  double all_steps() const {
    const int64_t steps = run_.account ? run_.parts.back().last_step : explanation_.cluster.steps;
    return static_cast<double>(std::max<int64_t>(1, steps));
  }

  void pauses() {
    if (explanation_.pauses.empty()) return;
    const Pause& longest = explanation_.pauses.front();
    double seconds = 0;
    for (const Pause& pause : explanation_.pauses) seconds += pause.seconds;
    std::string text;
    if (explanation_.pauses.size() > 1) {
      text = fmt::format("{} steps stood still, for {} together; the longest: ",
                         explanation_.pauses.size(), format_short_time(seconds));
    }
    text += fmt::format(
        "{} for {} in step {}, {} after the first step began",
        longest.name.empty() ? "the exchange stood still" : longest.name + " stood still",
        format_short_time(longest.seconds), longest.step, format_short_time(longest.after_s));
    add_once(CauseKind::pause, seconds, text);
  }

  /// What a person waits for beside steps.
  void start_and_end() {
    if (!run_.account) return;
    const TimeAccount& account = *run_.account;
    double first = 0;  // steps of processes: beyond a usual one
    for (const RunRank& rank : run_.ranks) {
      if (rank.rank != 0 || rank.per_epoch || rank.records.empty()) continue;
      const trace::DivisionRecord& record = rank.records.front();
      first = std::max(0.0, record.division().training() -
                                static_cast<double>(record.steps) * explanation_.step_s);
    }
    const double seconds = account.around() + first;
    std::string text = fmt::format("{} before the first step and after the last:",
                                   format_short_time(account.around()));
    const char* between = " ";
    const auto name = [&](const char* what, double each) {
      if (each < 0.05 * seconds) return;
      text += fmt::format("{}{} {}", between, what, format_short_time(each));
      between = ", ";
    };
    name("start-up", account.start);
    name("opening the data", account.data);
    name("setting up", account.set_up);
    name(run_.job.workers > 1 ? "meeting of the ranks" : "the first weights", account.meeting);
    name("the end", account.end);
    if (first > 0.05 * seconds) {
      text += fmt::format("; the first step takes {} longer than others", format_short_time(first));
    }
    add_once(CauseKind::start, seconds, text);
  }

  void loader() {
    const auto slowest = std::max_element(
        ranks_.begin(), ranks_.end(),
        [](const auto& a, const auto& b) { return a.step[Part::load] < b.step[Part::load]; });
    const double load = explanation_.in_step ? slowest->step[Part::load] : all_[Part::load];
    std::string text = fmt::format("steps wait {} for their batch", format_short_time(load));
    const double others = median_of_others(
        ranks_, slowest->rank, [](const RankTime& rank) { return rank.step[Part::load]; });
    if (ranks_.size() > 1 && others < 0.5 * load) text += ", most of all " + slowest->name;
    if (!run_.epochs.empty() && run_.epochs.back().helped > 0.05) {
      text += fmt::format("; {:.0f} % of the samples were prepared by the steps themselves",
                          100 * run_.epochs.back().helped);
    }
    const HostMeans host = host_means(slowest->host);
    if (host.iowait > 0.1)
      text += fmt::format("; CPUs waited for a disk {:.0f} % of the time", 100 * host.iowait);
    add(CauseKind::loader, load, text);
  }

  HostMeans host_means(const std::string& name) const {
    for (const auto& [host, samples] : run_.hosts) {
      if (host == name || (name.empty() && run_.hosts.size() == 1)) return means_of(samples);
    }
    return {};
  }

  /// What the host's curves say about why it is slow.
  std::string why_slow(const RankTime& slow) const {
    if (run_.job.replayed) return "computing is replayed, and its host wakes it late";
    if (const std::optional<CpuUse> use = cpu_use(run_, slow.rank)) {
      std::vector<double> in_line;
      for (const RankTime& rank : ranks_) {
        const std::optional<CpuUse> other = cpu_use(run_, rank.rank);
        if (other && rank.rank != slow.rank) in_line.push_back(other->in_line);
      }
      if (use->in_line > kMoreInLine + (in_line.empty() ? 0 : median(in_line))) {
        return fmt::format(
            "other programs take its CPUs: it gets {:.2f} of them, and its threads stand in line "
            "{:.0f} % of the time that they want to run",
            use->cpus, 100 * use->in_line);
      }
    }
    const HostMeans own = host_means(slow.host);
    std::vector<double> cpu, running;
    for (const auto& [host, samples] : run_.hosts) {
      if (host == slow.host) continue;
      const HostMeans means = means_of(samples);
      if (std::isfinite(means.process_cpu)) {
        cpu.push_back(means.process_cpu);
        running.push_back(means.running);
      }
    }
    if (cpu.empty() || !std::isfinite(own.process_cpu)) return "CPU frequency or a neighbour";
    const bool gets_less =
        own.process_cpu < 0.9 * median(cpu) && own.process_cpu < median(cpu) - 0.1;
    if (gets_less && own.running > median(running) + 0.5) {
      return fmt::format("other programs take its CPUs: it gets {:.1f} of them, the others {:.1f}",
                         own.process_cpu, median(cpu));
    }
    if (gets_less) {
      return fmt::format("it gets {:.1f} CPUs, the others {:.1f}", own.process_cpu, median(cpu));
    }
    return "it has as many CPUs as the others, so they are slower: frequency, heat or memory";
  }

  void slow_rank() {
    if (ranks_.size() < 2) return;
    const auto computing = [](const RankTime& rank) { return rank.computing(); };
    const RankTime& slow = *std::max_element(
        ranks_.begin(), ranks_.end(),
        [](const RankTime& a, const RankTime& b) { return a.computing() < b.computing(); });
    const double usual = median_of_others(ranks_, slow.rank, computing);
    if (usual <= 0 || slow.computing() < kSlower * usual) return;
    slow_rank_s_ = slow.computing() - usual;
    const double cost =
        explanation_.in_step ? slow_rank_s_ : slow_rank_s_ / static_cast<double>(ranks_.size());
    std::string with;
    for (const RankTime& rank : ranks_) {
      if (rank.rank != slow.rank && rank.computing() > kSlower * usual) {
        with += fmt::format("{}{}", with.empty() ? "; also slow: " : ", ", rank.name);
      }
    }
    add(CauseKind::slow_rank, cost,
        fmt::format("{} computes {:.0f} % slower than the others{} ({}){}", slow.name,
                    100 * (slow.computing() / usual - 1),
                    explanation_.in_step ? ", who wait for it" : "", why_slow(slow), with));
  }

  /// The bucket that is exposed most, of `seconds` in all.
  std::string largest_bucket(double seconds) const {
    if (!run_.exchange || run_.exchange->buckets.empty()) return "";
    const auto& buckets = run_.exchange->buckets;
    const BucketTimes& bucket = *std::max_element(
        buckets.begin(), buckets.end(),
        [](const BucketTimes& a, const BucketTimes& b) { return a.exposed_s < b.exposed_s; });
    if (bucket.exposed_s <= 0) return "";
    const std::string layers = bucket.first_layer == bucket.last_layer || bucket.last_layer.empty()
                                   ? bucket.first_layer
                                   : bucket.first_layer + " to " + bucket.last_layer;
    if (buckets.size() == 1) {
      return fmt::format("; all gradients are one bucket of {}", format_bytes(bucket.bytes));
    }
    // Many share the blame, or it only comes after the others.
    double bytes = 0;
    for (const BucketTimes& one : buckets) bytes += one.bytes;
    if (bucket.exposed_s < 0.2 * seconds || bucket.bytes < 0.1 * bytes) return "";
    return fmt::format("; {} ({}) takes most: its exchange is exposed for {}", layers,
                       format_bytes(bucket.bytes), format_short_time(bucket.exposed_s));
  }

  int own_servers() const { return run_.job.strategy.exchange.own_servers(); }

  void links_and_exchange() {
    if (run_.job.workers < 2) return;  // what is left is in rest()
    measured_link_ = slow_link(run_);
    double exposed = all_[Part::network];
    if (measured_link_) {
      exposed -= add_measured_link(exposed);
    } else if (ranks_.size() > 2) {
      exposed -= add_link_that_stands_out(exposed);
    }
    exchange(exposed);
  }

  /// Returns what is no longer to be explained of the exposed exchange.
  double add_measured_link(double exposed) {
    const double ratio = measured_link_->ratio;
    if (explanation_.in_step) {
      const double wait = unexplained_wait(explanation_);
      slow_link_s_ = (exposed + wait) * (1 - ratio);
      add(CauseKind::slow_link, slow_link_s_, measured_link_->text);
      return exposed * (1 - ratio);
    }
    // Free workers do not wait for it: only its own steps are longer.
    double own = 0, others = 0;
    int64_t slow = 0;
    for (const RankTime& rank : ranks_) {
      const bool is_slow = !measured_link_->host.empty() && rank.host == measured_link_->host;
      (is_slow ? own : others) += rank.step[Part::network] + rank.step[Part::wait];
      slow += is_slow ? 1 : 0;
    }
    const auto all = static_cast<double>(ranks_.size());
    if (slow == 0 || slow == static_cast<int64_t>(ranks_.size())) return 0;
    const double usual = others / (all - static_cast<double>(slow));
    slow_link_s_ = std::max(0.0, own - static_cast<double>(slow) * usual) / all;
    add(CauseKind::slow_link, slow_link_s_, measured_link_->text);
    return std::min(exposed, slow_link_s_);
  }

  /// Where nobody measured links: one rank exchanges for far longer than the others.
  double add_link_that_stands_out(double exposed) {
    const auto network = [](const RankTime& rank) { return rank.step[Part::network]; };
    const RankTime& slow = *std::max_element(
        ranks_.begin(), ranks_.end(),
        [&](const RankTime& a, const RankTime& b) { return network(a) < network(b); });
    // Whom a busy server serves last exchanges longer, whatever its link.
    const double slower = own_servers() > 0 ? 3 : 1.5;
    const double usual = median_of_others(ranks_, slow.rank, network);
    if (network(slow) <= slower * usual || network(slow) - usual <= 0.03 * explanation_.step_s) {
      return 0;
    }
    slow_link_s_ = network(slow) - usual;
    add(CauseKind::slow_link,
        explanation_.in_step ? slow_link_s_ : slow_link_s_ / static_cast<double>(ranks_.size()),
        fmt::format("{} exchanges {} in a step, the others {}: its link, or what shares it",
                    slow.name, format_short_time(network(slow)), format_short_time(usual)));
    return exposed - usual;
  }

  /// Whether waiting is its fault or that of what lies between.
  std::string busiest_server() const {
    const std::vector<RankTime>& servers = explanation_.servers;
    if (servers.empty()) return "";
    double most = -1;
    std::string name;
    for (const RankTime& server : servers) {
      const double busy = busy_share(explanation_, server);
      if (busy > most) name = server.name;
      most = std::max(most, busy);
    }
    return fmt::format("; {} is busy {:.0f} % of a step", name, 100 * most);
  }

  void exchange(double seconds) {
    if (own_servers() > 0) {
      server_s_ = seconds + left_wait();
      add(CauseKind::server, server_s_,
          fmt::format("{} workers share {}: they wait {} for it{}{}", run_.job.workers,
                      own_servers() == 1
                          ? "one server"
                          : "the servers (" + to_string(run_.job.strategy.exchange) + ")",
                      format_short_time(server_s_), busiest_server(), largest_bucket(server_s_)));
      return;
    }
    if (run_.exchange && run_.exchange->messages > 0 && run_.exchange->bytes_sent > 0) {
      const auto sent = static_cast<double>(run_.exchange->messages);
      const double messages = sent /
                              static_cast<double>(std::max<int64_t>(1, ranks_.front().steps)) /
                              static_cast<double>(run_.job.workers);
      const double each = static_cast<double>(run_.exchange->bytes_sent) / sent;
      if (each < kSmallMessage && messages * kLatency > 0.3 * seconds) {
        add(CauseKind::latency, seconds,
            fmt::format("{:.0f} messages of {} from each worker in a step: their latency, not the "
                        "bandwidth",
                        messages, format_bytes(each)));
        return;
      }
    }
    add(CauseKind::exchange, seconds,
        fmt::format("gradients cross for {} after the pass has ended{}", format_short_time(seconds),
                    largest_bucket(seconds)));
  }

  /// A slow link explains its part.
  double left_wait() const {
    const double wait = unexplained_wait(explanation_);
    return measured_link_ && explanation_.in_step ? wait * measured_link_->ratio : wait;
  }

  void uneven() {
    if (ranks_.size() < 2 || server_s_ > 0) return;
    const double wait = left_wait();
    add(CauseKind::uneven, wait,
        fmt::format("another rank is the last in each step: the others wait {} for it",
                    format_short_time(wait)));
  }

  /// Of a usual call: what it takes, and what it would take at best.
  static double at_best(const OperatorProfile& profile, const OperatorItem& item) {
    return std::max(item.flops / profile.peak_gflops, item.bytes / profile.memory_gb_s) * 1e-9 /
           static_cast<double>(item.calls);
  }
  bool knows_operators() const {
    return run_.operators && run_.operators->peak_gflops > 0 && run_.operators->memory_gb_s > 0;
  }
  /// Where its CPUs are taken, no kernel is to blame.
  bool has_its_cpus() const {
    const std::optional<CpuUse> use = cpu_use(run_, 0);
    return !use || use->in_line < 0.15;
  }

  /// What a step costs once, whatever its batch: updating, bookkeeping, kernels that hardly begin.
  void small_batch() {
    const int64_t batch = run_.job.worker_batch();
    if (batch < 1 || batch > kSmallBatch || !has_its_cpus() || run_.job.replayed) return;
    double once = all_[Part::update] + all_[Part::other];
    std::string text = fmt::format(
        "a worker computes only {} sample{} in a step; updating and bookkeeping cost {} whatever "
        "the batch",
        batch, batch == 1 ? "" : "s", format_short_time(once));
    if (knows_operators()) {
      double taken = 0, best = 0, worst = 0;
      for (const OperatorItem& item : run_.operators->items) {
        const double seconds = item.usual_seconds();
        taken += seconds;
        best += at_best(*run_.operators, item);
        worst = std::max(worst, seconds - at_best(*run_.operators, item));
      }
      // A small batch slows all of them down; one that is slow by itself is another matter.
      const bool all_are_slow = worst < 0.5 * (taken - best);
      if (taken > 0 && all_are_slow && best < kFarBelowRoofline * taken) {
        once += taken - best / kGoodKernel;
        text += fmt::format(", and kernels reach {:.0f} % of what the machine can do",
                            100 * best / taken);
      }
    }
    if (once < 0.2 * explanation_.step_s) return;
    small_batch_s_ = std::min(once, explanation_.step_s);
    add(CauseKind::small_batch, small_batch_s_, text);
  }

  void operators() {
    if (!knows_operators() || !has_its_cpus() || small_batch_s_ > 0) return;
    const OperatorProfile& profile = *run_.operators;
    const OperatorItem* worst = nullptr;
    double largest = 0, ratio = 0;
    for (const OperatorItem& item : profile.items) {
      const double seconds = item.usual_seconds();
      const double best = at_best(profile, item);
      if (seconds <= 0 || best <= 0 || best / seconds > kFarBelowRoofline) continue;
      const double loss = seconds - best / kGoodKernel;
      if (loss > largest) {
        largest = loss;
        ratio = best / seconds;
        worst = &item;
      }
    }
    if (worst == nullptr || largest < 0.03 * explanation_.step_s) return;
    add(CauseKind::operation, largest,
        fmt::format("{} of {} ({}, {}) takes {} and reaches {:.0f} % of what the machine can do",
                    worst->operation, worst->layer, worst->phase, worst->kernel,
                    format_short_time(worst->usual_seconds()), 100 * ratio));
  }

  void rest() {
    const double evaluate = all_[Part::evaluate], checkpoint = all_[Part::checkpoint];
    const auto share = [&](double seconds) {
      return 100 * std::min(1.0, seconds / explanation_.whole_s);
    };
    add(CauseKind::evaluation, evaluate,
        fmt::format("evaluating takes {:.0f} % of the time", share(evaluate)));
    add(CauseKind::checkpoint, checkpoint,
        fmt::format("saving checkpoints takes {:.0f} % of the time", share(checkpoint)));
    if (small_batch_s_ == 0) {
      add(CauseKind::other, all_[Part::other],
          fmt::format("{} in a step are neither computing nor waiting",
                      format_short_time(all_[Part::other])));
    }
    if (run_.job.workers < 2) {
      add(CauseKind::other, all_[Part::network], "bringing updated weights to their place");
    }
  }

  Explanation& explanation_;
  const Run& run_;
  const std::vector<RankTime>& ranks_;
  const trace::StepDivision& all_;
  std::optional<TooFewCpus> too_few_;
  std::optional<SlowLink> measured_link_;
  double slow_rank_s_ = 0, slow_link_s_ = 0, server_s_ = 0, small_batch_s_ = 0;
};
}  // namespace

double unexplained_wait(const Explanation& explanation) {
  double latest = 0, mean = 0;
  for (const RankTime& rank : explanation.ranks) {
    const double busy = rank.step.sum() - rank.step[Part::wait];
    latest = std::max(latest, busy);
    mean += busy / static_cast<double>(explanation.ranks.size());
  }
  return std::max(0.0, explanation.cluster.step[Part::wait] - (latest - mean));
}

void find_causes(Explanation& explanation, const Run& run) {
  if (explanation.step_s <= 0) return;
  Finder(explanation, run).find();
}

}  // namespace syrtos::report
