#include "syrtos/report/explain_links.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>

namespace syrtos::report {

using trace::Event;

namespace {

constexpr int64_t kLarge = 64 * 1024;         // bytes: below, latency is most of the time
constexpr int64_t kStretch = 5'000'000;       // ns
constexpr int64_t kLongest = 10'000'000'000;  // ns: longer ones say little
constexpr size_t kFewest = 10;                // stretches

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

}  // namespace

int64_t bytes_of(const trace::RankEvents& rank, const trace::Event& event) {
  for (int i = 0; i < event.arguments.size(); ++i) {
    const trace::Argument argument = event.arguments[i];
    if (!argument.is_text && rank.names[argument.key].text == "bytes") return argument.value;
  }
  return 0;
}

std::vector<LinkRate> link_rates(const trace::TraceContents& trace) {
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
    if (bytes.size() < kFewest) continue;
    std::vector<double> all;
    for (const auto& [at, sum] : bytes) all.push_back(sum / (static_cast<double>(kStretch) * 1e-9));
    std::sort(all.begin(), all.end(), std::greater<>());
    links.push_back({pair.first, pair.second, all[all.size() / 20]});
  }
  return links;
}

}  // namespace syrtos::report
