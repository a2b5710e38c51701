#include <fmt/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/trace/text_output.h"
#include "syrtos/trace/trace_file.h"

namespace syrtos::trace {

namespace {

constexpr size_t kMostLanes = 1024;  // a server awaits every bucket of every worker

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// An event's place in the file.
struct Placed {
  int64_t start = 0;  // on the reference clock
  int64_t end = 0;
  uint32_t event = 0;
  uint32_t lane = 0;
};

/// Viewers want spans of a thread to enclose one another or to lie apart: those that do not go to
/// further lanes. In the order of their starts; returns how many lanes there are.
size_t assign_lanes(std::vector<Placed>& events, const std::vector<Event>& track) {
  std::vector<std::vector<int64_t>> open(1);  // per lane: ends of the spans that are open
  for (Placed& placed : events) {
    if (!track[placed.event].is_span()) continue;
    for (;; ++placed.lane) {
      if (placed.lane == open.size()) open.emplace_back();
      std::vector<int64_t>& ends = open[placed.lane];
      while (!ends.empty() && ends.back() <= placed.start) ends.pop_back();
      if (ends.empty() || ends.back() >= placed.end || placed.lane + 1 == kMostLanes) {
        ends.push_back(placed.end);
        break;
      }
    }
  }
  return open.size();
}

class Writer {
 public:
  Writer(TextOutput& out, int64_t origin, int first_thread)
      : out_(out), origin_(origin), next_thread_(first_thread) {}

  void rank(const RankEvents& rank, int process) {
    process_ = process;
    prepare_names(rank.names);
    print(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":{},"rank":{},)"
          R"("host":{},"clock_error":{}}}}})",
          process, quoted(fmt::format("rank {} on {}", rank.rank, rank.host)), rank.rank,
          quoted(rank.host), rank.clock.error());
    print(R"({{"ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}}}})",
          process, rank.rank);
    if (rank.dropped() > 0) {
      print(R"({{"ph":"M","name":"process_labels","pid":{},"args":{{"labels":)"
            R"("{} events did not fit and are missing"}}}})",
            process, rank.dropped());
    }
    for (const TrackEvents& track : rank.tracks) this->track(track, rank.clock);
  }

 private:
  void track(const TrackEvents& track, const ClockMap& clock) {
    std::vector<Placed> events(track.events.size());
    for (uint32_t i = 0; i < events.size(); ++i) {
      const Event& event = track.events[i];
      // Arrows need something to hold on to: a span of a nanosecond at least.
      const bool message = event.kind == Kind::sent || event.kind == Kind::received;
      const int64_t start = clock.to_reference(event.start);
      const int64_t end = clock.to_reference(event.end);
      events[i] = {start, std::max(end, start + (message ? 1 : 0)), i, 0};
    }
    std::stable_sort(events.begin(), events.end(), [](const Placed& a, const Placed& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    const auto lanes = static_cast<int>(assign_lanes(events, track.events));
    const int thread = next_thread_;
    next_thread_ += lanes;
    for (int lane = 0; lane < lanes; ++lane) {
      print(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{},)"
            R"("dropped":{}}}}})",
            process_, thread + lane, quoted(track.name), lane == 0 ? track.dropped : 0);
      print(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)"
            R"("args":{{"sort_index":{}}}}})",
            process_, thread + lane, thread + lane);
    }
    for (const Placed& placed : events) {
      event(track.events[placed.event], placed, thread + static_cast<int>(placed.lane));
      out_.flush_if_full();
    }
  }

  void event(const Event& event, const Placed& placed, int thread) {
    switch (event.kind) {
      case Kind::span:
      case Kind::sent:
      case Kind::received:
        head('X', heads_.at(static_cast<size_t>(event.name)), thread, placed.start);
        append(R"(,"dur":)");
        time(placed.end - placed.start);
        break;
      case Kind::instant:
        head('i', heads_.at(static_cast<size_t>(event.name)), thread, placed.start);
        append(R"(,"s":"t")");
        break;
      case Kind::counter:
        if (!std::isfinite(event.number())) return;
        head('C', counters_.at(static_cast<size_t>(event.name)).head, thread, placed.start);
        fmt::format_to(to(), FMT_COMPILE(R"(,"args":{{{}:{}}})"),
                       counters_.at(static_cast<size_t>(event.name)).unit, event.number());
        break;
    }
    if (event.arguments.size() > 0) arguments(event.arguments);
    append("}");
    if (event.kind == Kind::sent) flow("s", event.flow, thread, placed.start);
    if (event.kind == Kind::received) flow(R"(f","bp":"e)", event.flow, thread, placed.end - 1);
  }

  void head(char phase, const std::string& name, int thread, int64_t start) {
    separate();
    fmt::format_to(to(), FMT_COMPILE(R"({{"ph":"{}",{},"pid":{},"tid":{},"ts":)"), phase, name,
                   process_, thread);
    time(start - origin_);
  }

  // Both ends of an arrow need the same name, category and id; which span they belong to follows
  // from thread and time, and for our own reader from the line before.
  void flow(std::string_view phase, uint64_t id, int thread, int64_t at) {
    separate();
    fmt::format_to(to(),
                   FMT_COMPILE(R"({{"ph":"{}","name":"message","cat":"message","id":"0x{:x}",)"
                               R"("pid":{},"tid":{},"ts":)"),
                   phase, id, process_, thread);
    time(at - origin_);
    append("}");
  }

  void arguments(const Arguments& arguments) {
    append(R"(,"args":)");
    for (int i = 0; i < arguments.size(); ++i) {
      const Argument argument = arguments[i];
      append(i == 0 ? "{" : ",");
      append(texts_.at(static_cast<size_t>(argument.key)));
      append(":");
      if (argument.is_text) {
        append(texts_.at(static_cast<size_t>(argument.value)));
      } else {
        fmt::format_to(to(), FMT_COMPILE("{}"), argument.value);
      }
    }
    append("}");
  }

  // Microseconds, as the format wants, without loss.
  void time(int64_t ns) { fmt::format_to(to(), FMT_COMPILE("{}.{:03}"), ns / 1000, ns % 1000); }

  void prepare_names(const NameTable& names) {
    texts_.clear();
    heads_.clear();
    counters_.clear();
    for (size_t i = 0; i < names.size(); ++i) {
      const NameTable::Entry& entry = names[static_cast<Name>(i)];
      texts_.push_back(quoted(entry.text));
      heads_.push_back(R"("name":)" + texts_.back());
      // Viewers show the name and the key of a counter's value: "CPU, %" becomes "CPU %".
      const size_t comma = entry.text.rfind(", ");
      const bool has_unit = comma != std::string::npos && comma + 2 < entry.text.size();
      counters_.push_back(
          {R"("name":)" + quoted(has_unit ? entry.text.substr(0, comma) : entry.text),
           quoted(has_unit ? entry.text.substr(comma + 2) : "value")});
      if (entry.category.empty()) continue;
      const std::string category = R"(,"cat":)" + quoted(entry.category);
      heads_.back() += category;
      counters_.back().head += category;
    }
  }

  template <typename... Args>
  void print(fmt::format_string<const Args&...> format, const Args&... args) {
    separate();
    fmt::format_to(to(), format, args...);
  }
  void separate() {
    append(first_ ? "" : ",\n");
    first_ = false;
  }
  void append(std::string_view text) {
    out_.buffer().append(text.data(), text.data() + text.size());
  }
  std::back_insert_iterator<fmt::memory_buffer> to() { return std::back_inserter(out_.buffer()); }

  TextOutput& out_;
  int64_t origin_;
  int process_ = 0;
  int next_thread_;  // viewers take threads of different processes with one number for the same
  bool first_ = true;
  std::vector<std::string> texts_;  // quoted names
  std::vector<std::string> heads_;  // with category, as an event begins
  struct Counter {
    std::string head, unit;
  };
  std::vector<Counter> counters_;
};

/// The first event of all: times in the file count from it, so that viewers keep their decimals.
int64_t earliest(std::span<const RankEvents> ranks) {
  int64_t first = std::numeric_limits<int64_t>::max();
  for (const RankEvents& rank : ranks) {
    for (const TrackEvents& track : rank.tracks) {
      for (const Event& event : track.events) {
        first = std::min(first, rank.clock.to_reference(event.start));
      }
    }
  }
  return first == std::numeric_limits<int64_t>::max() ? 0 : first;
}

}  // namespace

void write_trace(const std::filesystem::path& file, std::span<const RankEvents> ranks) {
  TextOutput out(file);
  const int64_t origin = earliest(ranks);
  const std::string head = fmt::format(
      "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"origin_ns\":{}}},\n"
      "\"traceEvents\":[\n",
      origin);
  out.buffer().append(head.data(), head.data() + head.size());
  const int processes = static_cast<int>(ranks.size());
  Writer writer(out, origin, processes + 1);  // 0 is the idle process for viewers
  for (int i = 0; i < processes; ++i) writer.rank(ranks[i], i + 1);
  const std::string_view tail = "\n]}\n";
  out.buffer().append(tail.data(), tail.data() + tail.size());
  out.commit();
}

}  // namespace syrtos::trace
