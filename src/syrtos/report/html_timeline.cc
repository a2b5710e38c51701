#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "syrtos/planner/units.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using nlohmann::json;
using trace::Event;
using trace::Kind;
using trace::RankEvents;

namespace {

constexpr size_t kMostSpans = 3000;  // of all lanes: the longest
constexpr size_t kMostMessages = 1500;
constexpr size_t kMostLanes = 48;

struct Window {
  int64_t from = 0, to = 0;
  std::string what;
  bool contains(const Event& event) const { return event.end > from && event.start < to; }
};

bool is_step(const RankEvents& rank, const Event& event) {
  return (event.kind == Kind::span || event.kind == Kind::instant) &&
         rank.names[event.name].text == "step";
}

/// A step ends where the next one begins; of the last one only a span says where.
std::vector<Window> steps_of(const RankEvents& rank) {
  std::vector<Window> steps;
  for (const trace::TrackEvents& track : rank.tracks) {
    for (const Event& event : track.events) {
      if (is_step(rank, event)) steps.push_back({event.start, event.end, ""});
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const Window& a, const Window& b) { return a.from < b.from; });
  for (size_t i = 0; i + 1 < steps.size(); ++i) steps[i].to = steps[i + 1].from;
  if (!steps.empty() && steps.back().to == steps.back().from) steps.pop_back();
  return steps;
}

/// The step of the first rank that is neither at the beginning nor at the end.
std::optional<Window> window_of(const std::vector<RankEvents>& ranks) {
  for (const RankEvents& rank : ranks) {
    const std::vector<Window> steps = steps_of(rank);
    if (!steps.empty()) {
      Window step = steps[steps.size() / 2];
      step.what = fmt::format("step {} of {} that were traced", steps.size() / 2 + 1, steps.size());
      return step;
    }
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (const trace::TrackEvents& track : rank.tracks) {
      for (const Event& event : track.events) {
        first = std::min(first, event.start);
        last = std::max(last, event.end);
      }
    }
    if (first < last) {
      // Without marks of steps: a tenth of a second from the middle.
      const int64_t middle = first + (last - first) / 2;
      return Window{middle, std::min(last, middle + 100'000'000), "from the middle of the trace"};
    }
  }
  return std::nullopt;
}

/// What a span counts as, by its category or name.
std::string part_of(const trace::NameTable::Entry& name) {
  for (const std::string_view part : trace::kPartNames) {
    if (name.category == part || name.text.find(part) != std::string::npos)
      return std::string(part);
  }
  for (const char* word :
       {"exchange", "send", "recv", "receive", "bucket", "pull", "push", "reduce"}) {
    if (name.text.find(word) != std::string::npos ||
        name.category.find(word) != std::string::npos) {
      return "network";
    }
  }
  return "other";
}

/// Computing on top, messages below.
std::vector<const trace::TrackEvents*> in_order(const RankEvents& rank) {
  const auto place = [](const trace::TrackEvents* track) {
    const char* words[] = {"worker", "compute", "exchange", "loader"};
    for (size_t i = 0; i < std::size(words); ++i) {
      if (track->name.find(words[i]) != std::string::npos) return i;
    }
    return std::size(words);
  };
  std::vector<const trace::TrackEvents*> tracks;
  for (const trace::TrackEvents& track : rank.tracks) tracks.push_back(&track);
  std::stable_sort(tracks.begin(), tracks.end(),
                   [&](const auto* a, const auto* b) { return place(a) < place(b); });
  return tracks;
}

struct Drawn {
  const RankEvents* rank;
  const Event* event;
  size_t lane;
};

}  // namespace

json timeline_json(const Run& run) {
  if (!run.trace) return nullptr;
  const std::optional<Window> window = window_of(run.trace->ranks);
  if (!window || window->to <= window->from) return nullptr;
  json lanes = json::array();
  std::vector<Drawn> spans;
  struct End {
    size_t lane;
    const Event* event;
  };
  std::map<uint64_t, End> sent;
  std::vector<std::pair<uint64_t, End>> received;
  std::map<uint64_t, std::string> names;
  int64_t error = 0;
  for (const RankEvents& rank : run.trace->ranks) {
    error = std::max(error, rank.clock.error());
    for (const trace::TrackEvents* in : in_order(rank)) {
      const trace::TrackEvents& track = *in;
      if (lanes.size() == kMostLanes) break;
      const size_t lane = lanes.size();
      bool used = false;
      for (const Event& event : track.events) {
        if (!event.is_span() || !window->contains(event) || is_step(rank, event)) continue;
        used = true;
        spans.push_back({&rank, &event, lane});
        if (event.kind == Kind::sent) sent[event.flow] = {lane, &event};
        if (event.kind == Kind::received) {
          received.push_back({event.flow, {lane, &event}});
          names[event.flow] = rank.names[event.name].text;
        }
      }
      if (!used) continue;
      lanes.push_back({{"rank", rank.rank},
                       {"label", clean_text(fmt::format("{}: {}", rank.rank, track.name))},
                       {"spans", json::array()}});
    }
  }
  const size_t all = spans.size();
  std::stable_sort(spans.begin(), spans.end(), [](const Drawn& a, const Drawn& b) {
    return a.event->end - a.event->start > b.event->end - b.event->start;
  });
  if (spans.size() > kMostSpans) spans.resize(kMostSpans);
  const auto second = [&](int64_t time) {
    return static_cast<double>(std::clamp(time, window->from, window->to) - window->from) * 1e-9;
  };
  // Longest first: what they enclose is drawn on top.
  for (const Drawn& span : spans) {
    const auto& name = span.rank->names[span.event->name];
    lanes[span.lane]["spans"].push_back({clean_text(name.text), part_of(name),
                                         second(span.event->start),
                                         second(span.event->end) - second(span.event->start)});
  }
  json messages = json::array();
  for (const auto& [flow, to] : received) {
    const auto from = sent.find(flow);
    if (from == sent.end() || messages.size() == kMostMessages) continue;
    messages.push_back({from->second.lane, second(from->second.event->start), to.lane,
                        second(to.event->end), clean_text(names[flow])});
  }
  const double length = static_cast<double>(window->to - window->from) * 1e-9;
  std::string text = fmt::format("{}: {}. Lines are messages. Clocks agree to {}.", window->what,
                                 planner::format_short_time(length),
                                 planner::format_short_time(static_cast<double>(error) * 1e-9));
  if (all > kMostSpans)
    text += fmt::format(" The longest {} of {} spans are shown.", kMostSpans, all);
  return {{"seconds", length}, {"text", text}, {"lanes", lanes}, {"messages", messages}};
}

}  // namespace syrtos::report
