#include "syrtos/trace/trace_lines.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace syrtos::trace {

namespace {

constexpr int64_t kMostEvents = 20'000'000;
constexpr double kLatestMicroseconds = 1e14;  // microseconds: three years
constexpr int64_t kMostRanksOfLines = 1 << 20;
constexpr int64_t kMostDropped = int64_t{1} << 50;
constexpr size_t kMostThreads = 1 << 16;

bool within(const TraceLine::Value* value, int64_t most) {
  return value != nullptr && !value->is_text && value->number >= 0 && value->number <= most;
}

bool is_text(const TraceLine::Value* value) { return value != nullptr && value->is_text; }

std::optional<Kind> kind_of(char phase) {
  switch (phase) {
    case 'X':
      return Kind::span;
    case 'i':
      return Kind::instant;
    case 'C':
      return Kind::counter;
    default:
      return {};
  }
}

// Threads with one name are the lanes of one track.
size_t track_of(RankEvents& rank, const std::string& name) {
  for (size_t i = 0; i < rank.tracks.size(); ++i) {
    if (rank.tracks[i].name == name) return i;
  }
  rank.tracks.push_back({name, 0, {}});
  return rank.tracks.size() - 1;
}

Arguments arguments_of(const TraceLine& line, NameTable& names) {
  Arguments arguments;
  for (size_t i = 0; i < line.used; ++i) {
    const TraceLine::Value& value = line.values[i];
    const Name key = names.intern(value.key);
    arguments.add(value.is_text ? Argument(key, names.intern(value.text))
                                : Argument(key, value.number));
  }
  return arguments;
}

}  // namespace

bool TraceCollector::fail(std::string_view expected) {
  expected_ = expected;
  return false;
}

bool TraceCollector::add(const TraceLine& line) {
  if (line.phase == 'M') {
    if (line.name == "process_name") return add_process(line);
    if (line.name == "thread_name") return add_thread(line);
    return true;
  }
  Thread* thread = thread_of(line);
  if (thread == nullptr) return fail("an event of a process and a thread that were named before");
  if (line.phase == 's' || line.phase == 'f') return add_flow(line, *thread);
  return add_event(line, *thread);
}

bool TraceCollector::add_process(const TraceLine& line) {
  const TraceLine::Value *rank = line.find("rank"), *host = line.find("host"),
                         *error = line.find("clock_error");
  if (!line.process || !within(rank, kMostRanksOfLines) || !is_text(host) ||
      !within(error, int64_t{1} << 60)) {
    return fail("a process with pid, rank, host and clock_error");
  }
  if (!processes_.emplace(*line.process, ranks_.size()).second) {
    return fail("processes with different numbers");
  }
  RankEvents events;
  events.rank = static_cast<int>(rank->number);
  events.host = host->text;
  if (error->number > 0) events.clock = ClockMap({ClockOffset{0, 0, error->number}});
  ranks_.push_back(std::move(events));
  return true;
}

bool TraceCollector::add_thread(const TraceLine& line) {
  const TraceLine::Value *name = line.find("name"), *dropped = line.find("dropped");
  const auto process = line.process ? processes_.find(*line.process) : processes_.end();
  if (process == processes_.end() || !line.thread || !is_text(name) ||
      !within(dropped, kMostDropped) || threads_.size() == kMostThreads) {
    return fail("a thread of a process named before, with tid, name and dropped");
  }
  RankEvents& rank = ranks_[process->second];
  const size_t track = track_of(rank, name->text);
  rank.tracks[track].dropped += dropped->number;
  threads_[{*line.process, *line.thread}] = {process->second, track};
  return true;
}

bool TraceCollector::add_event(const TraceLine& line, Thread& thread) {
  const std::optional<Kind> kind = kind_of(line.phase);
  if (!kind) return fail("one of the phases M, X, i, C, s and f");
  if (!(line.start >= 0 && line.start < kLatestMicroseconds && line.duration >= 0 &&
        line.duration < kLatestMicroseconds)) {
    return fail("times from 0 to 1e14 microseconds");
  }
  if (events_ == kMostEvents) return fail("at most 20,000,000 events");
  RankEvents& rank = ranks_[thread.rank];
  Event event;
  event.kind = *kind;
  event.start = origin_ + std::llround(line.start * 1000);
  event.end = event.start + std::llround(line.duration * 1000);
  if (*kind == Kind::counter) {
    if (line.used != 1 || line.values[0].is_text) return fail("a counter's value");
    const TraceLine::Value& value = line.values[0];
    const bool has_unit = value.key != "value";
    event.name =
        rank.names.intern(has_unit ? line.name + ", " + value.key : line.name, line.category);
    event.flow = std::bit_cast<uint64_t>(value.real);
  } else {
    event.name = rank.names.intern(line.name, line.category);
    event.arguments = arguments_of(line, rank.names);
  }
  ++events_;
  std::vector<Event>& events = rank.tracks[thread.track].events;
  thread.last = events.size();
  events.push_back(event);
  return true;
}

bool TraceCollector::add_flow(const TraceLine& line, const Thread& thread) {
  std::vector<Event>& events = ranks_[thread.rank].tracks[thread.track].events;
  if (!thread.last || events[*thread.last].kind != Kind::span) {
    return fail("an arrow after the span that it belongs to");
  }
  uint64_t id = 0;
  const char* last = line.id.data() + line.id.size();
  if (!line.id.starts_with("0x") || std::from_chars(line.id.data() + 2, last, id, 16).ptr != last) {
    return fail("an arrow with a hexadecimal id");
  }
  events[*thread.last].kind = line.phase == 's' ? Kind::sent : Kind::received;
  events[*thread.last].flow = id;
  return true;
}

TraceCollector::Thread* TraceCollector::thread_of(const TraceLine& line) {
  if (!line.process || !line.thread) return nullptr;
  const std::pair key(*line.process, *line.thread);
  if (recent_ != nullptr && recent_key_ == key) return recent_;
  const auto found = threads_.find(key);
  if (found == threads_.end()) return nullptr;
  recent_key_ = key;
  return recent_ = &found->second;
}

}  // namespace syrtos::trace
