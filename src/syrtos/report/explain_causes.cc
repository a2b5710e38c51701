#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "syrtos/base/format.h"
#include "syrtos/base/statistics.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain.h"
#include "syrtos/report/explain_links.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using planner::format_short_time;
using trace::Part;

namespace {

constexpr double kWorthSaying = 0.01;  // of a step
constexpr double kSlower = 1.05;       // than the others: beyond what varies anyway
constexpr double kFarBelowRoofline = 0.25;
constexpr double kGoodKernel = 0.5;     // of the roofline
constexpr double kSmallMessage = 32e3;  // bytes: below, latency decides
constexpr double kSlowLink = 0.5;       // of the fastest link's rate
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
    loader();
    slow_rank();
    links_and_exchange();
    uneven();
    operators();
    rest();
    auto& causes = explanation_.causes;
    std::stable_sort(causes.begin(), causes.end(),
                     [](const Cause& a, const Cause& b) { return a.seconds > b.seconds; });
  }

 private:
  void add(CauseKind kind, double seconds, std::string text) {
    const double share = seconds / explanation_.step_s;
    if (share < kWorthSaying) return;
    explanation_.causes.push_back({kind, clean_text(text), seconds, share});
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

  struct SlowPair {
    std::string text;
    double ratio = 1;  // of its speed to the fastest's
  };
  /// From the trace: the pair of ranks between which bytes move slowest, if it stands out. In a
  /// ring with a slow link the others are held up too, but now and then they show what they can.
  std::optional<SlowPair> slow_pair() const {
    if (!run_.trace || own_servers() > 0) return {};  // a server's link is shared by its workers
    const std::vector<LinkRate> rates = link_rates(*run_.trace);
    if (rates.size() < 3) return {};
    const auto [slow, fast] = std::minmax_element(
        rates.begin(), rates.end(),
        [](const LinkRate& a, const LinkRate& b) { return a.bytes_per_s < b.bytes_per_s; });
    const double ratio = slow->bytes_per_s / fast->bytes_per_s;
    if (ratio > kSlowLink) return {};
    return SlowPair{
        fmt::format("from rank {} to rank {} bytes move at {}, over the fastest link at {}",
                    slow->from, slow->to, planner::format_bandwidth(slow->bytes_per_s),
                    planner::format_bandwidth(fast->bytes_per_s)),
        ratio};
  }

  int own_servers() const { return run_.job.strategy.exchange.own_servers(); }

  void links_and_exchange() {
    if (ranks_.size() < 2) {
      if (run_.job.workers < 2) return;  // what is left is in rest()
    }
    const auto network = [](const RankTime& rank) { return rank.step[Part::network]; };
    const RankTime& slow = *std::max_element(
        ranks_.begin(), ranks_.end(),
        [&](const RankTime& a, const RankTime& b) { return network(a) < network(b); });
    double common = all_[Part::network];
    // Whom a busy server serves last exchanges longer, whatever its link.
    const double slower = own_servers() > 0 ? 3 : 1.5;
    if (ranks_.size() > 2) {
      const double usual = median_of_others(ranks_, slow.rank, network);
      if (network(slow) > slower * usual && network(slow) - usual > 0.03 * explanation_.step_s) {
        slow_link_s_ = network(slow) - usual;
        common = usual;
        add(CauseKind::slow_link,
            explanation_.in_step ? slow_link_s_ : slow_link_s_ / static_cast<double>(ranks_.size()),
            fmt::format("{} exchanges {} in a step, the others {}: its link, or what shares it{}",
                        slow.name, format_short_time(network(slow)), format_short_time(usual),
                        pair_text()));
      }
    }
    if (slow_link_s_ == 0) {
      if (const std::optional<SlowPair> pair = slow_pair()) {
        add(CauseKind::slow_link, common * (1 - pair->ratio), pair->text);
        return;
      }
    }
    exchange(common);
  }

  std::string pair_text() const {
    const std::optional<SlowPair> pair = slow_pair();
    return pair ? "; " + pair->text : "";
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
      server_s_ = seconds + unexplained_wait(explanation_);
      add(CauseKind::server, server_s_,
          fmt::format("{} workers share {}: they wait {} for it{}{}", run_.job.workers,
                      own_servers() == 1 ? "one server" : "the servers (" + run_.job.exchange + ")",
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

  void uneven() {
    if (ranks_.size() < 2 || server_s_ > 0) return;
    const double wait = unexplained_wait(explanation_);
    add(CauseKind::uneven, wait,
        fmt::format("another rank is the last in each step: the others wait {} for it",
                    format_short_time(wait)));
  }

  void operators() {
    if (!run_.operators || run_.operators->peak_gflops <= 0 || run_.operators->memory_gb_s <= 0) {
      return;
    }
    const OperatorProfile& profile = *run_.operators;
    const OperatorItem* worst = nullptr;
    double largest = 0, ratio = 0;
    for (const OperatorItem& item : profile.items) {
      const double seconds = item.seconds / static_cast<double>(item.calls);
      const double best =
          std::max(item.flops / profile.peak_gflops, item.bytes / profile.memory_gb_s) * 1e-9 /
          static_cast<double>(item.calls);
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
                    format_short_time(worst->seconds / static_cast<double>(worst->calls)),
                    100 * ratio));
  }

  void rest() {
    const double evaluate = all_[Part::evaluate], checkpoint = all_[Part::checkpoint];
    const double once = all_[Part::update] + all_[Part::other];
    add(CauseKind::evaluation, evaluate,
        fmt::format("evaluating takes {:.0f} % of the run", 100 * evaluate / all_.sum()));
    add(CauseKind::checkpoint, checkpoint,
        fmt::format("saving checkpoints takes {:.0f} % of the run", 100 * checkpoint / all_.sum()));
    const int64_t batch = run_.job.worker_batch();
    if (batch > 0 && batch <= 16 && once > 0.2 * explanation_.step_s) {
      add(CauseKind::small_batch, once,
          fmt::format(
              "a worker computes only {} samples in a step; updating and bookkeeping cost {} "
              "whatever the batch",
              batch, format_short_time(once)));
    } else {
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
  double slow_rank_s_ = 0, slow_link_s_ = 0, server_s_ = 0;
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
