#include "syrtos/report/explain_links.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace syrtos::report {

using trace::Event;

namespace {

constexpr int64_t kLarge = 64 * 1024;  // bytes: below, latency is most of the time
constexpr size_t kFewest = 3;

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

int64_t bytes_of(const trace::RankEvents& rank, const Event& event) {
  for (int i = 0; i < event.arguments.size(); ++i) {
    const trace::Argument argument = event.arguments[i];
    if (!argument.is_text && rank.names[argument.key].text == "bytes") return argument.value;
  }
  return 0;
}

}  // namespace

std::vector<LinkRate> link_rates(const trace::TraceContents& trace) {
  std::unordered_map<uint64_t, int64_t> sent;  // when sending began
  for_events(trace, trace::Kind::sent,
             [&](const auto&, const Event& event) { sent[event.flow] = event.start; });
  std::map<std::pair<int, int>, std::vector<double>> rates;
  for_events(trace, trace::Kind::received, [&](const auto& rank, const Event& event) {
    const int64_t bytes = bytes_of(rank, event);
    const auto began = sent.find(event.flow);
    if (bytes < kLarge || began == sent.end()) return;
    // Nothing crosses before both sides are ready.
    const int64_t crossing = event.end - std::max(event.start, began->second);
    if (crossing <= 0) return;
    rates[{static_cast<int>(event.flow >> 52), static_cast<int>(event.flow >> 40 & 0xfff)}]
        .push_back(static_cast<double>(bytes) / (static_cast<double>(crossing) * 1e-9));
  });
  std::vector<LinkRate> links;
  for (auto& [pair, all] : rates) {
    if (all.size() < kFewest) continue;
    // Of the fastest tenth the slowest: most messages share their link with others.
    std::sort(all.begin(), all.end(), std::greater<>());
    links.push_back({pair.first, pair.second, all[all.size() / 10]});
  }
  return links;
}

}  // namespace syrtos::report
