#include "syrtos/report/explain_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "syrtos/base/statistics.h"
#include "syrtos/planner/units.h"

namespace syrtos::report {

using trace::Event;

namespace {

constexpr int64_t kLarge = 64 * 1024;         // bytes: below, latency is most of the time
constexpr int64_t kStretch = 5'000'000;       // ns
constexpr int64_t kLongest = 10'000'000'000;  // ns: longer ones say little
constexpr size_t kFewestStretches = 10;       // stretches
constexpr double kEnoughBytes = 1e6;          // to know how fast a link is
constexpr double kEnoughSeconds = 0.02;
constexpr double kSlowHost = 0.6;  // of the others' rate
constexpr double kSlowLink = 0.5;

template <typename Each>
void for_events(const trace::TraceContents& trace, trace::Kind kind, Each each) {
  for (const trace::RankEvents& rank : trace.ranks) {
    for (const trace::TrackEvents& track : rank.tracks) {
      for (const Event& event : track.events) {
        if (event.kind == kind) each(rank, event);
      }
    }
  }
}

std::vector<LinkRate> traced_rates(const trace::TraceContents& trace) {
  std::unordered_map<uint64_t, int64_t> sent;  // when sending began
  for_events(trace, trace::Kind::sent,
             [&](const auto&, const Event& event) { sent[event.flow] = event.start; });
  std::unordered_map<int, std::string> hosts;
  for (const trace::RankEvents& rank : trace.ranks) hosts[rank.rank] = rank.host;
  // Messages share a link, and may lie at their end before they are asked for: of one alone nobody
  // knows how fast it was. So bytes are spread over the time that they had, and added up.
  std::map<std::pair<int, int>, std::unordered_map<int64_t, double>> stretches;
  for_events(trace, trace::Kind::received, [&](const auto& rank, const Event& event) {
    const int64_t bytes = bytes_of(rank, event);
    const auto began = sent.find(event.flow);
    if (bytes < kLarge || began == sent.end()) return;
    const int64_t start = began->second, end = event.end;
    const int from = static_cast<int>(event.flow >> 52);
    if (end <= start || end - start > kLongest || hosts[from] == rank.host) return;
    std::unordered_map<int64_t, double>& link = stretches[{from, rank.rank}];
    const double per_ns = static_cast<double>(bytes) / static_cast<double>(end - start);
    for (int64_t at = start; at < end;) {
      const int64_t next = std::min(end, (at / kStretch + 1) * kStretch);
      link[at / kStretch] += per_ns * static_cast<double>(next - at);
      at = next;
    }
  });
  std::vector<LinkRate> links;
  for (const auto& [pair, bytes] : stretches) {
    if (bytes.size() < kFewestStretches) continue;
    std::vector<double> all;
    for (const auto& [at, sum] : bytes) all.push_back(sum / (static_cast<double>(kStretch) * 1e-9));
    std::sort(all.begin(), all.end(), std::greater<>());
    links.push_back({pair.first, pair.second, all[all.size() / 20]});
  }
  return links;
}

}  // namespace

int64_t bytes_of(const trace::RankEvents& rank, const trace::Event& event) {
  for (int i = 0; i < event.arguments.size(); ++i) {
    const trace::Argument argument = event.arguments[i];
    if (!argument.is_text && rank.names[argument.key].text == "bytes") return argument.value;
  }
  return 0;
}

std::vector<LinkRate> link_rates(const Run& run) {
  std::vector<LinkRate> rates;
  if (run.exchange) {
    for (const auto* ranks : {&run.exchange->ranks, &run.exchange->servers}) {
      for (const run::RankTraffic& rank : *ranks) {
        for (const run::LinkTraffic& link : rank.links) {
          if (link.bytes < kEnoughBytes || link.seconds < kEnoughSeconds) continue;
          rates.push_back({rank.rank, link.to, link.bytes / link.seconds});
        }
      }
    }
  }
  return rates.empty() && run.trace ? traced_rates(*run.trace) : rates;
}

std::map<std::string, double> host_rates(const Run& run) {
  std::map<int, std::string> hosts;
  for (const RunRank& rank : run.ranks) {
    // The link of a server is shared by its workers: of one of them it says nothing.
    if (rank.server < 0) hosts[rank.rank] = rank.host;
  }
  std::map<std::string, double> rates;
  for (const LinkRate& rate : link_rates(run)) {
    for (const int rank : {rate.from, rate.to}) {
      if (hosts[rank].empty()) continue;
      double& best = rates[hosts[rank]];
      best = std::max(best, rate.bytes_per_s);
    }
  }
  return rates;
}

namespace {

/// The others are held up by a slow host too, but each has a way that does not lead there.
std::optional<SlowLink> slow_host(const Run& run) {
  const std::map<std::string, double> rates = host_rates(run);
  if (rates.size() < 3) return {};
  const auto slow = std::min_element(
      rates.begin(), rates.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  std::vector<double> others;
  for (const auto& [host, rate] : rates) {
    if (host != slow->first) others.push_back(rate);
  }
  const double usual = median(std::move(others));
  if (slow->second > kSlowHost * usual) return {};
  return SlowLink{.text = fmt::format("host {} moves bytes at {}, the others at {}: its link, or "
                                      "what shares it",
                                      slow->first, planner::format_bandwidth(slow->second),
                                      planner::format_bandwidth(usual)),
                  .host = slow->first,
                  .ratio = slow->second / usual};
}

}  // namespace

std::optional<SlowLink> slow_link(const Run& run) {
  if (std::optional<SlowLink> host = slow_host(run)) return host;
  if (run.job.strategy.exchange.own_servers() > 0) return {};  // workers share a server's link
  const std::vector<LinkRate> rates = link_rates(run);
  if (rates.size() < 3) return {};
  const auto slow = std::min_element(rates.begin(), rates.end(), [](const auto& a, const auto& b) {
    return a.bytes_per_s < b.bytes_per_s;
  });
  std::vector<double> others;
  for (const LinkRate& rate : rates) {
    if (&rate != &*slow) others.push_back(rate.bytes_per_s);
  }
  const double usual = median(std::move(others));
  if (slow->bytes_per_s > kSlowLink * usual) return {};
  return SlowLink{
      .text = fmt::format("from rank {} to rank {} bytes move at {}, over the other links at {}",
                          slow->from, slow->to, planner::format_bandwidth(slow->bytes_per_s),
                          planner::format_bandwidth(usual)),
      .ratio = slow->bytes_per_s / usual};
}

}  // namespace syrtos::report
