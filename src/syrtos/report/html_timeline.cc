#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

#include "syrtos/base/format.h"
#include "syrtos/planner/units.h"
#include "syrtos/report/explain_links.h"
#include "syrtos/report/html_page.h"
#include "syrtos/report/text.h"

namespace syrtos::report {

using nlohmann::json;
using trace::Event;
using trace::Kind;
using trace::RankEvents;

namespace {

constexpr size_t kMostSpans = 4000;    // of all lanes of a step
constexpr size_t kSpansInAll = 24000;  // of all steps that can be chosen
constexpr size_t kMostSteps = 40;
constexpr size_t kMostMessages = 100;  // as lines: more cover each other
constexpr size_t kMostLanes = 48;

struct Window {
  int64_t from = 0, to = 0;
  int64_t number = 0;  // of the step; 0: not known
  bool contains(const Event& event) const { return event.end > from && event.start < to; }
};

bool is_step(const RankEvents& rank, const Event& event) {
  return (event.kind == Kind::span || event.kind == Kind::instant) &&
         rank.names[event.name].text == "step";
}

/// The number that the mark of a step carries.
int64_t number_of(const RankEvents& rank, const Event& event) {
  for (int i = 0; i < event.arguments.size(); ++i) {
    const trace::Argument argument = event.arguments[i];
    if (!argument.is_text && rank.names[argument.key].text == "step") return argument.value;
  }
  return 0;
}

/// A step ends where the next one begins; the last one, of which no span says where, with the last
/// that the rank did.
std::vector<Window> steps_of(const RankEvents& rank) {
  std::vector<Window> steps;
  int64_t end = 0;
  for (const trace::TrackEvents& track : rank.tracks) {
    for (const Event& event : track.events) {
      if (is_step(rank, event)) {
        steps.push_back({event.start, event.end, number_of(rank, event)});
      } else if (event.is_span()) {
        end = std::max(end, event.end);
      }
    }
  }
  std::sort(steps.begin(), steps.end(),
            [](const Window& a, const Window& b) { return a.from < b.from; });
  for (size_t i = 0; i + 1 < steps.size(); ++i) steps[i].to = steps[i + 1].from;
  if (!steps.empty() && steps.back().to == steps.back().from) {
    steps.back().to = std::max(end, steps.back().from);
  }
  if (!steps.empty() && steps.back().to <= steps.back().from) steps.pop_back();
  return steps;
}

/// A usual one: within a twentieth of the median; of several, the one nearest to the middle.
size_t usual_step(const std::vector<Window>& steps) {
  std::vector<int64_t> lengths;
  lengths.reserve(steps.size());
  for (const Window& step : steps) lengths.push_back(step.to - step.from);
  std::sort(lengths.begin(), lengths.end());
  const int64_t median = lengths[lengths.size() / 2];
  const auto middle = static_cast<int64_t>(steps.size() / 2);
  size_t best = 0;
  std::pair<bool, int64_t> least(true, INT64_MAX);
  for (size_t i = 0; i < steps.size(); ++i) {
    const int64_t off = std::abs(steps[i].to - steps[i].from - median);
    const std::pair<bool, int64_t> cost(off > median / 20,
                                        std::abs(static_cast<int64_t>(i) - middle));
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return best;
}

/// Steps of the first rank that has any, and which of them is usual.
struct Windows {
  std::vector<Window> steps;
  size_t usual = 0;
};
Windows windows_of(const std::vector<RankEvents>& ranks) {
  for (const RankEvents& rank : ranks) {
    std::vector<Window> steps = steps_of(rank);
    if (!steps.empty()) {
      const size_t usual = usual_step(steps);
      return {std::move(steps), usual};
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
      return {{Window{middle, std::min(last, middle + 100'000'000)}}, 0};
    }
  }
  return {};
}

/// What a span counts as, by its category or name.
std::string part_of(const trace::NameTable::Entry& name) {
  if (name.category == "message") return name.text == "permit" ? "wait" : "network";
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
    const char* words[] = {"worker", "server", "compute", "exchange", "loader"};
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

bool is_message(const Event& event) {
  return event.kind == Kind::sent || event.kind == Kind::received;
}

struct Drawn {
  const RankEvents* rank;
  const Event* event;
  size_t lane;
};

/// One that was sent and received within the window.
struct Crossed {
  size_t from, to;  // lanes
  int64_t start, end;
  int64_t bytes;
  std::string name;
};

/// One step of all ranks.
json step_json(const Run& run, const Window& window) {
  json lanes = json::array();
  std::vector<Drawn> spans;
  std::map<uint64_t, Drawn> sent;
  int64_t error = 0;
  for (const RankEvents& rank : run.trace->ranks) {
    error = std::max(error, rank.clock.error());
    for (const trace::TrackEvents* in : in_order(rank)) {
      const trace::TrackEvents& track = *in;
      if (lanes.size() == kMostLanes) break;
      const size_t lane = lanes.size();
      bool used = false;
      for (const Event& event : track.events) {
        if (!event.is_span() || !window.contains(event) || is_step(rank, event)) continue;
        used = true;
        spans.push_back({&rank, &event, lane});
        if (event.kind == Kind::sent) sent[event.flow] = spans.back();
      }
      if (!used) continue;
      lanes.push_back({{"rank", rank.rank},
                       {"label", clean_text(fmt::format("{}: {}", rank.rank, track.name))},
                       {"messages", is_message(*spans.back().event)},
                       {"spans", json::array()}});
    }
  }
  const size_t all = spans.size();
  // What is done matters more than messages.
  std::stable_sort(spans.begin(), spans.end(), [](const Drawn& a, const Drawn& b) {
    if (is_message(*a.event) != is_message(*b.event)) return is_message(*b.event);
    return a.event->end - a.event->start > b.event->end - b.event->start;
  });
  const auto second = [&](int64_t time) {
    return static_cast<double>(std::clamp(time, window.from, window.to) - window.from) * 1e-9;
  };
  std::vector<Crossed> crossed;
  // Longest first: what they enclose is drawn on top.
  for (size_t i = 0; i < spans.size(); ++i) {
    const Drawn& span = spans[i];
    const auto& name = span.rank->names[span.event->name];
    int64_t start = span.event->start;
    std::string label = name.text;
    if (is_message(*span.event)) {
      const int64_t bytes = bytes_of(*span.rank, *span.event);
      label += ", " + format_bytes(static_cast<double>(bytes));
      const auto from = sent.find(span.event->flow);
      if (span.event->kind == Kind::received && from != sent.end()) {
        // Before it was sent it was only waited for.
        start = std::clamp(from->second.event->start, start, span.event->end);
        crossed.push_back({from->second.lane, span.lane, from->second.event->start, span.event->end,
                           bytes, label});
      }
    }
    if (i >= kMostSpans) continue;
    lanes[span.lane]["spans"].push_back(
        {clean_text(label), part_of(name), second(start), second(span.event->end) - second(start)});
  }
  const size_t messages_in_all = crossed.size();
  std::stable_sort(crossed.begin(), crossed.end(),
                   [](const Crossed& a, const Crossed& b) { return a.bytes > b.bytes; });
  if (crossed.size() > kMostMessages) crossed.resize(kMostMessages);
  json messages = json::array();
  for (const Crossed& one : crossed) {
    messages.push_back(
        {one.from, second(one.start), one.to, second(one.end), clean_text(one.name)});
  }
  const double length = static_cast<double>(window.to - window.from) * 1e-9;
  std::string text;
  if (messages_in_all > 0) {
    text += messages_in_all > kMostMessages
                ? fmt::format("Lines are the {} largest of {} messages.", kMostMessages,
                              format_count(static_cast<int64_t>(messages_in_all)))
                : "Lines are messages.";
  }
  text += fmt::format("{}Clocks agree to {}.", text.empty() ? "" : " ",
                      planner::format_short_time(static_cast<double>(error) * 1e-9));
  if (all > kMostSpans) {
    text += fmt::format(" The longest {} of {} spans are shown.", format_count(kMostSpans),
                        format_count(static_cast<int64_t>(all)));
  }
  return {{"step", window.number},
          {"seconds", length},
          {"text", text},
          {"lanes", lanes},
          {"messages", messages}};
}

size_t spans_in(const json& step) {
  size_t spans = 0;
  for (const json& lane : step["lanes"]) spans += lane["spans"].size();
  return spans;
}

}  // namespace

json timeline_json(const Run& run) {
  if (!run.trace) return nullptr;
  const auto [windows, usual] = windows_of(run.trace->ranks);
  if (windows.empty() || windows[usual].to <= windows[usual].from) return nullptr;
  json shown = step_json(run, windows[usual]);
  const size_t each = std::max<size_t>(1, spans_in(shown));
  const size_t most = std::clamp<size_t>(kSpansInAll / each, 1, kMostSteps);
  // As many neighbours of the usual one as there is room for.
  const size_t first =
      std::min(usual - std::min(usual, most / 2), windows.size() - std::min(windows.size(), most));
  json steps = json::array();
  for (size_t i = first; i < windows.size() && i < first + most; ++i) {
    steps.push_back(i == usual ? shown : step_json(run, windows[i]));
  }
  return {{"steps", steps}, {"usual", usual - first}, {"traced", windows.size()}};
}

}  // namespace syrtos::report
