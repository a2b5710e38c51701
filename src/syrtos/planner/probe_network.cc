#include "syrtos/planner/probe_network.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/base/statistics.h"
#include "syrtos/collective/bytes.h"
#include "syrtos/collective/collective.h"
#include "syrtos/planner/probe_schedule.h"
#include "syrtos/planner/probe_stream.h"
#include "syrtos/planner/probe_work.h"
#include "syrtos/world/started.h"

namespace syrtos::planner {

using collective::Bytes;
using collective::Group;
using world::Tag;
using world::Task;
using world::World;

namespace {

constexpr int kLatencyPartners = 3;
constexpr int kFanPartners = 3;
constexpr size_t kMostTurns = 32;
constexpr double kClearly = 1.2;     // more than a fan must reach to say anything new
constexpr double kDisturbed = 0.95;  // of what the ring should reach
constexpr double kLeastSpread = 0.02;
constexpr double kMostSpread = 0.9;
constexpr double kPiece = 0.01;  // seconds of computing at a time
constexpr size_t kLeastPieces = 6;
constexpr double kQuick = 0.25;     // of the pieces
constexpr int kMostDoublings = 20;  // of what is found to be too short
constexpr double kWatch = 0.1;      // between two looks at whether to stop
constexpr double kDeadline = 60;    // nobody waits longer for a turn to end

/// Seconds of each part.
struct Times {
  double pair;
  double fan;
  double ring;
  double computing;  // of one host alone
};

Times times_of(double all, size_t pairs, int hosts) {
  const auto turns = static_cast<double>(std::min(kMostTurns, pairs));
  const double computing = std::min<double>(kMostTurns, hosts);
  return {.pair = std::max(0.3, std::min(0.12 * all, 0.4 * all / turns)),
          .fan = std::max(0.1, std::min(0.05 * all, 0.15 * all / turns)),
          .ring = std::max(0.3, 0.1 * all),
          .computing = std::max(0.1, std::min(0.03 * all, 0.12 * all / computing))};
}

class Probe {
 public:
  Probe(World& world, NetworkProbeOptions options)
      : world_(world),
        options_(std::move(options)),
        group_(Group::all(world)),
        pairs_(turns_of(pairs_in_ring(world.size(), 1), kMostTurns)),
        times_(times_of(options_.seconds, pairs_.size(), world.size())),
        start_(world.now()) {
    SYRTOS_CHECK(world.size() >= 2 && (group_.hosts() == world.size() || group_.hosts() == 1));
    world.set_deadline(std::max(kDeadline, options_.seconds));
    result_.findings.resize(hosts());
    const double turns = static_cast<double>(pairs_.size());
    planned_ = turns * (times_.pair + times_.fan) + 3 * times_.ring +
               std::min<double>(kMostTurns, world.size()) * times_.computing;
  }

  Task<NetworkProbe> run() {
    co_await describe_hosts();
    co_await measure_latency();
    co_await measure_computing();
    co_await measure_bandwidth();
    co_await measure_ring();
    co_await measure_ring_and_computing();
    if (group_.hosts() == 1) become_one_host();
    result_.seconds = world_.now() - start_;
    co_return std::move(result_);
  }

 private:
  size_t hosts() const { return static_cast<size_t>(world_.size()); }
  HostProfile& profile(size_t rank) { return result_.cluster.hosts[rank]; }
  Tag tag(uint16_t item) const { return {.purpose = world::Purpose::control, .item = item}; }

  /// Everybody's values, on every rank: as many of each.
  Task<std::vector<std::vector<double>>> share(std::vector<double> mine) {
    Bytes bytes(mine.size() * sizeof(double));
    if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
    const std::vector<Bytes> all =
        co_await collective::all_gather_bytes(world_, group_, std::move(bytes), tag(kShare));
    std::vector<std::vector<double>> values(all.size());
    for (size_t rank = 0; rank < all.size(); ++rank) {
      values[rank].resize(all[rank].size() / sizeof(double));
      if (!all[rank].empty()) std::memcpy(values[rank].data(), all[rank].data(), all[rank].size());
    }
    co_return values;
  }

  Task<Figures> share_figures(std::vector<Figure> mine) {
    std::vector<double> flat;
    for (const Figure& figure : mine) flat.insert(flat.end(), {figure.value, figure.spread});
    const std::vector<std::vector<double>> all = co_await share(std::move(flat));
    Figures figures(all.size());
    for (size_t rank = 0; rank < all.size(); ++rank) {
      for (size_t i = 0; i + 1 < all[rank].size(); i += 2) {
        figures[rank].push_back({all[rank][i], all[rank][i + 1]});
      }
    }
    co_return figures;
  }

  /// Nobody begins before all have come.
  Task<> step(const std::string& doing) {
    if (options_.progress) {
      options_.progress(doing, std::min(0.99, (world_.now() - start_) / planned_));
    }
    co_await collective::barrier(world_, group_, tag(kBarrier));
  }

  /// One turn after the other; what this rank measured in each.
  using Measure = Task<Figure> (Probe::*)(const Meeting&);
  Task<Figures> take_turns(const std::vector<Turn>& turns, std::string doing, Measure measure) {
    std::vector<Figure> mine(turns.size());
    for (size_t turn = 0; turn < turns.size(); ++turn) {
      co_await step(doing);
      for (const Meeting& meeting : turns[turn]) {
        if (meeting.has(world_.rank())) mine[turn] = co_await (this->*measure)(meeting);
      }
    }
    Figures figures = co_await share_figures(std::move(mine));
    co_return figures;
  }

  Task<> describe_hosts() {
    std::vector<double> mine = {options_.cores, options_.memory};
    const std::vector<std::vector<double>> all = co_await share(std::move(mine));
    for (size_t rank = 0; rank < hosts(); ++rank) {
      HostProfile host;
      host.name = world_.host(static_cast<Rank>(rank));
      host.cores = all[rank][0];
      host.memory = all[rank][1];
      result_.cluster.hosts.push_back(std::move(host));
    }
  }

  Rank peer_in(const Meeting& meeting) const {
    return meeting.centre == world_.rank() ? meeting.partners.front() : meeting.centre;
  }

  Task<Figure> latency_of(const Meeting& meeting) {
    return ping_pong(world_, peer_in(meeting), tag(kSmall));
  }

  Task<> measure_latency() {
    const std::vector<Turn> turns =
        turns_of(pairs_in_ring(world_.size(), kLatencyPartners), 2 * kMostTurns);
    const Figures figures = co_await take_turns(turns, "measuring latency", &Probe::latency_of);
    const std::vector<double> found = latencies(turns, figures);
    for (size_t rank = 0; rank < hosts(); ++rank) {
      profile(rank).latency = found[rank];
      result_.findings[rank].latency_spread = typical_spread(figures[rank]);
    }
  }

  static double typical_spread(const std::vector<Figure>& figures) {
    std::vector<double> spreads;
    for (const Figure& figure : figures) {
      if (figure.value > 0) spreads.push_back(figure.spread);
    }
    return median(std::move(spreads));
  }

  // ---- computing -------------------------------------------------------------------------------

  Task<double> piece() {
    const int64_t repeats = repeats_;
    std::function<void()> work = [repeats] { compute_piece(repeats); };
    const double begin = world_.now();
    co_await world_.compute(kPiece, std::move(work));
    co_return world_.now() - begin;
  }

  /// Seconds of a piece, again and again: the percentile, and how they vary.
  Task<Figure> compute_for(double seconds, double part) {
    std::vector<double> pieces;
    const double until = world_.now() + seconds;
    while (pieces.size() < kLeastPieces || world_.now() < until) {
      const double one = co_await piece();
      pieces.push_back(one);
    }
    pieces.erase(pieces.begin());  // threads wake up
    co_return Figure{percentile(pieces, part), relative_spread(pieces)};
  }

  /// Whatever else runs there now and then only makes it longer: the speed is that of the quick
  /// ones.
  Task<Figure> compute_alone(const Meeting&) { return compute_for(times_.computing, kQuick); }

  /// Rank 0 finds out how much is a piece; all others do as much.
  Task<> agree_on_piece() {
    double seconds = 0;
    for (int i = 0; world_.rank() == 0 && i < kMostDoublings && seconds < kPiece / 2; ++i) {
      repeats_ *= 2;
      seconds = co_await piece();
    }
    if (seconds > 0) {
      repeats_ = std::max<int64_t>(
          1, static_cast<int64_t>(static_cast<double>(repeats_) * kPiece / seconds));
    }
    std::vector<double> mine = {static_cast<double>(repeats_)};
    const std::vector<std::vector<double>> all = co_await share(std::move(mine));
    repeats_ = static_cast<int64_t>(all[0][0]);
  }

  Task<> measure_computing() {
    co_await step("measuring computing");
    co_await agree_on_piece();
    const std::vector<Turn> turns = turns_of(everybody_alone(world_.size()), kMostTurns);
    const Figures alone = co_await take_turns(turns, "measuring computing", &Probe::compute_alone);
    co_await step("measuring computing on all hosts");
    const Figure mine = co_await compute_for(times_.ring, 0.5);
    std::vector<Figure> figures = {mine};
    const Figures together = co_await share_figures(std::move(figures));
    for (size_t rank = 0; rank < hosts(); ++rank) {
      for (const Figure& figure : alone[rank]) {
        if (figure.value == 0) continue;
        result_.findings[rank].piece_s = figure.value;
        profile(rank).jitter = std::min(figure.spread, kMostSpread);
      }
      result_.findings[rank].together = together[rank][0].value / result_.findings[rank].piece_s;
      profile(rank).speed = result_.findings[0].piece_s / result_.findings[rank].piece_s;
    }
  }

  // ---- bytes -----------------------------------------------------------------------------------

  Task<Figure> exchange_of(const Meeting& meeting) {
    const Rank peer = peer_in(meeting);
    const size_t bytes = co_await agree_on_bytes(world_, peer, tag(kSmall));
    std::vector<Stream> streams = {Stream{peer, bytes}};
    std::vector<Stream> back = streams;
    Figure figure =
        co_await stream(world_, std::move(streams), std::move(back), tag(kLarge), times_.pair);
    co_return figure;
  }

  /// `beside`: streams at the same time.
  Stream stream_with(Rank peer, int beside = 1) const {
    const auto bandwidth = [&](Rank rank) {
      return result_.cluster.hosts[static_cast<size_t>(rank)].bandwidth;
    };
    return {peer, message_bytes(std::min(bandwidth(peer), bandwidth(world_.rank())) / beside)};
  }

  Task<Figure> exchange_with_all(const Meeting& meeting) {
    std::vector<Stream> streams;
    if (meeting.centre != world_.rank()) {
      streams.push_back(stream_with(meeting.centre, kFanPartners));
    } else {
      for (const Rank partner : meeting.partners)
        streams.push_back(stream_with(partner, kFanPartners));
    }
    std::vector<Stream> back = streams;
    return stream(world_, std::move(streams), std::move(back), tag(kLarge), times_.fan);
  }

  void note_bandwidths(const std::vector<double>& found) {
    for (size_t rank = 0; rank < hosts(); ++rank) profile(rank).bandwidth = found[rank];
  }

  Task<> measure_bandwidth() {
    const Figures of_pairs =
        co_await take_turns(pairs_, "measuring bandwidth of pairs", &Probe::exchange_of);
    std::vector<double> found = bandwidths(pairs_, of_pairs, {}, 1);
    note_bandwidths(found);
    std::vector<double> spreads;
    for (size_t rank = 0; rank < hosts(); ++rank) {
      spreads.push_back(result_.findings[rank].bandwidth_spread = typical_spread(of_pairs[rank]));
    }
    result_.cluster.spread = std::clamp(median(std::move(spreads)), kLeastSpread, kMostSpread);
    if (hosts() < 3 || group_.hosts() == 1) co_return;
    const std::vector<Turn> turns = turns_of(fans(found, kFanPartners), kMostTurns);
    const Figures of_fans = co_await take_turns(turns, "measuring bandwidth with several partners",
                                                &Probe::exchange_with_all);
    note_bandwidths(bandwidths(turns, of_fans, std::move(found), kClearly));
  }

  Task<Figure> go_around() {
    const Rank right = (world_.rank() + 1) % world_.size();
    const Rank left = (world_.rank() + world_.size() - 1) % world_.size();
    std::vector<Stream> out = {stream_with(right)};
    std::vector<Stream> in = {stream_with(left)};
    return stream(world_, std::move(out), std::move(in), tag(kLarge), times_.ring);
  }

  Task<> measure_ring() {
    co_await step("measuring all hosts at once");
    const world::Traffic before = world_.traffic();
    const double cores_before = options_.core_seconds();
    const Figure mine = co_await go_around();
    const double used = options_.core_seconds() - cores_before;
    const world::Traffic& now = world_.traffic();
    const auto bytes = static_cast<double>(now.bytes_sent - before.bytes_sent + now.bytes_received -
                                           before.bytes_received);
    std::vector<double> figures = {mine.value, used / bytes * 1e9};
    const std::vector<std::vector<double>> all = co_await share(std::move(figures));
    double ring = 0;
    for (size_t rank = 0; rank < hosts(); ++rank) {
      ring += result_.findings[rank].ring = all[rank][0];
      profile(rank).core_s_per_gb = std::max(0.0, all[rank][1]);
      const double next = profile((rank + 1) % hosts()).bandwidth;
      result_.ring_alone += std::min(profile(rank).bandwidth, next);
    }
    // Two hosts did the same as a pair.
    if (hosts() > 2 && ring < kDisturbed * result_.ring_alone) result_.cluster.all_at_once = ring;
  }

  static Task<> keep(Task<Figure> task, Figure& figure) { figure = co_await task; }

  Task<> measure_ring_and_computing() {
    co_await step("measuring all hosts at once while they compute");
    Figure bytes;
    Figure computing;
    std::vector<world::Started> both;
    both.emplace_back(world_, keep(go_around(), bytes));
    both.emplace_back(world_, keep(compute_for(times_.ring, 0.5), computing));
    co_await join_all(world_, both);
    std::vector<double> figures = {bytes.value, computing.value};
    const std::vector<std::vector<double>> all = co_await share(std::move(figures));
    for (size_t rank = 0; rank < hosts(); ++rank) {
      HostFindings& host = result_.findings[rank];
      host.ring_computing = all[rank][0];
      host.slowdown = all[rank][1] / (host.piece_s * host.together);
    }
  }

  /// What passed between the ranks went through the memory of their host, which they share.
  void become_one_host() {
    HostProfile host = result_.cluster.hosts[0];
    const HostProfile assumed;
    std::vector<double> latency;
    for (const HostProfile& each : result_.cluster.hosts) latency.push_back(each.latency);
    host.slots = world_.size();
    host.memory_latency = median(std::move(latency));
    host.memory_bandwidth = 0;
    for (const HostFindings& each : result_.findings) host.memory_bandwidth += each.ring;
    host.latency = assumed.latency;
    host.bandwidth = assumed.bandwidth;
    host.core_s_per_gb = 0;  // of the network
    result_.cluster.hosts = {std::move(host)};
    result_.cluster.all_at_once = 0;
  }

  static constexpr uint16_t kShare = 0xff00;
  static constexpr uint16_t kBarrier = 0xff01;
  static constexpr uint16_t kSmall = 0xff02;
  static constexpr uint16_t kLarge = 0xff03;

  World& world_;
  const NetworkProbeOptions options_;
  const Group group_;
  const std::vector<Turn> pairs_;
  const Times times_;
  const double start_;
  double planned_ = 1;
  int64_t repeats_ = 8;
  NetworkProbe result_;
};

Task<> measure(Probe& probe, NetworkProbe& result, bool& done) {
  result = co_await probe.run();
  done = true;
}

/// A turn may be long.
Task<> watch(World& world, const std::function<bool()>& should_stop, const bool& done) {
  while (!done) {
    if (should_stop()) fail_run("interrupted");
    co_await world.sleep(kWatch);
  }
}

}  // namespace

double process_core_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

Task<NetworkProbe> probe_network(World& world, NetworkProbeOptions options) {
  const std::function<bool()> should_stop = options.should_stop;
  Probe probe(world, std::move(options));
  NetworkProbe result;
  bool done = false;
  std::vector<world::Started> both;
  both.emplace_back(world, measure(probe, result, done));
  if (should_stop) both.emplace_back(world, watch(world, should_stop, done));
  co_await join_all(world, both);
  co_return result;
}

}  // namespace syrtos::planner
