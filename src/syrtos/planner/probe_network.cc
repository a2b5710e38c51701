#include "syrtos/planner/probe_network.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/base/statistics.h"
#include "syrtos/collective/bytes.h"
#include "syrtos/collective/collective.h"
#include "syrtos/planner/network_prober.h"
#include "syrtos/world/started.h"

namespace syrtos::planner {

using collective::Bytes;
using collective::Group;

namespace {

constexpr double kWatch = 0.1;    // between two looks at whether to stop
constexpr double kDeadline = 60;  // nobody waits longer for a turn to end

}  // namespace

NetworkProber::Times NetworkProber::times_of(double all, size_t pairs, int hosts) {
  const auto turns = static_cast<double>(std::min(kMostTurns, pairs));
  const double computing = std::min<double>(kMostTurns, hosts);
  return {.pair = std::max(0.3, std::min(0.12 * all, 0.4 * all / turns)),
          .fan = std::max(0.1, std::min(0.05 * all, 0.15 * all / turns)),
          .ring = std::max(0.3, 0.1 * all),
          .computing = std::max(0.1, std::min(0.03 * all, 0.12 * all / computing))};
}

NetworkProber::NetworkProber(World& world, NetworkProbeOptions options)
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

Task<NetworkProbe> NetworkProber::run() {
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

Task<std::vector<std::vector<double>>> NetworkProber::share(std::vector<double> mine) {
  Bytes bytes(mine.size() * sizeof(double));
  if (!mine.empty()) std::memcpy(bytes.data(), mine.data(), bytes.size());
  const std::vector<Bytes> all = co_await collective::all_gather_bytes(
      world_, group_, std::move(bytes), control_tag(ControlItem::probe_share));
  std::vector<std::vector<double>> values(all.size());
  for (size_t rank = 0; rank < all.size(); ++rank) {
    values[rank].resize(all[rank].size() / sizeof(double));
    if (!all[rank].empty()) std::memcpy(values[rank].data(), all[rank].data(), all[rank].size());
  }
  co_return values;
}

Task<Figures> NetworkProber::share_figures(std::vector<Figure> mine) {
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

Task<> NetworkProber::step(const std::string& doing) {
  if (options_.progress) {
    options_.progress(doing, std::min(0.99, (world_.now() - start_) / planned_));
  }
  co_await collective::barrier(world_, group_, control_tag(ControlItem::probe_barrier));
}

Task<Figures> NetworkProber::take_turns(const std::vector<Turn>& turns, std::string doing,
                                        Measure measure) {
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

Task<> NetworkProber::describe_hosts() {
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

void NetworkProber::become_one_host() {
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

namespace {

Task<> measure(NetworkProber& probe, NetworkProbe& result, bool& done) {
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
  NetworkProber probe(world, std::move(options));
  NetworkProbe result;
  bool done = false;
  std::vector<world::Started> both;
  both.emplace_back(world, measure(probe, result, done));
  if (should_stop) both.emplace_back(world, watch(world, should_stop, done));
  co_await join_all(world, both);
  co_return result;
}

}  // namespace syrtos::planner
