// What crosses between hosts: in pairs, with several partners, and all at once.

#include <algorithm>

#include "syrtos/base/statistics.h"
#include "syrtos/planner/network_prober.h"
#include "syrtos/world/started.h"

namespace syrtos::planner {

namespace {

constexpr int kLatencyPartners = 3;
constexpr int kFanPartners = 3;
constexpr double kClearly = 1.2;     // more than a fan must reach to say anything new
constexpr double kDisturbed = 0.95;  // of what the ring should reach
constexpr double kLeastSpread = 0.02;

Task<> keep(Task<Figure> task, Figure& figure) { figure = co_await task; }

}  // namespace

Rank NetworkProber::peer_in(const Meeting& meeting) const {
  return meeting.centre == world_.rank() ? meeting.partners.front() : meeting.centre;
}

Task<Figure> NetworkProber::latency_of(const Meeting& meeting) {
  return ping_pong(world_, peer_in(meeting), control_tag(ControlItem::probe_small));
}

Task<> NetworkProber::measure_latency() {
  const std::vector<Turn> turns =
      turns_of(pairs_in_ring(world_.size(), kLatencyPartners), 2 * kMostTurns);
  const Figures figures =
      co_await take_turns(turns, "measuring latency", &NetworkProber::latency_of);
  const std::vector<double> found = latencies(turns, figures);
  for (size_t rank = 0; rank < hosts(); ++rank) {
    profile(rank).latency = found[rank];
    result_.findings[rank].latency_spread = typical_spread(figures[rank]);
  }
}

double NetworkProber::typical_spread(const std::vector<Figure>& figures) {
  std::vector<double> spreads;
  for (const Figure& figure : figures) {
    if (figure.value > 0) spreads.push_back(figure.spread);
  }
  return median(std::move(spreads));
}

Task<Figure> NetworkProber::exchange_of(const Meeting& meeting) {
  const Rank peer = peer_in(meeting);
  const size_t bytes = co_await agree_on_bytes(world_, peer, control_tag(ControlItem::probe_small));
  std::vector<Stream> streams = {Stream{peer, bytes}};
  std::vector<Stream> back = streams;
  Figure figure = co_await stream(world_, std::move(streams), std::move(back),
                                  control_tag(ControlItem::probe_large), times_.pair);
  co_return figure;
}

Stream NetworkProber::stream_with(Rank peer, int beside) const {
  const auto bandwidth = [&](Rank rank) {
    return result_.cluster.hosts[static_cast<size_t>(rank)].bandwidth;
  };
  return {peer, message_bytes(std::min(bandwidth(peer), bandwidth(world_.rank())) / beside)};
}

Task<Figure> NetworkProber::exchange_with_all(const Meeting& meeting) {
  std::vector<Stream> streams;
  if (meeting.centre != world_.rank()) {
    streams.push_back(stream_with(meeting.centre, kFanPartners));
  } else {
    for (const Rank partner : meeting.partners)
      streams.push_back(stream_with(partner, kFanPartners));
  }
  std::vector<Stream> back = streams;
  return stream(world_, std::move(streams), std::move(back), control_tag(ControlItem::probe_large),
                times_.fan);
}

void NetworkProber::note_bandwidths(const std::vector<double>& found) {
  for (size_t rank = 0; rank < hosts(); ++rank) profile(rank).bandwidth = found[rank];
}

Task<> NetworkProber::measure_bandwidth() {
  const Figures of_pairs =
      co_await take_turns(pairs_, "measuring bandwidth of pairs", &NetworkProber::exchange_of);
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
                                              &NetworkProber::exchange_with_all);
  note_bandwidths(bandwidths(turns, of_fans, std::move(found), kClearly));
}

Task<Figure> NetworkProber::go_around() {
  const Rank right = (world_.rank() + 1) % world_.size();
  const Rank left = (world_.rank() + world_.size() - 1) % world_.size();
  std::vector<Stream> out = {stream_with(right)};
  std::vector<Stream> in = {stream_with(left)};
  return stream(world_, std::move(out), std::move(in), control_tag(ControlItem::probe_large),
                times_.ring);
}

Task<> NetworkProber::measure_ring() {
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

Task<> NetworkProber::measure_ring_and_computing() {
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

}  // namespace syrtos::planner
