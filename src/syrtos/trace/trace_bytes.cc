#include "syrtos/trace/trace_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "syrtos/trace/bytes.h"

namespace syrtos::trace {

namespace {

constexpr std::string_view kMagic = "syrtos events 1\n";
constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kLatest = int64_t{1} << 60;  // 36 years: sums of such times do not overflow
constexpr size_t kMostTracks = 1 << 16;

// An event: kind and number of arguments in one byte, name, start (since the previous event's),
// duration of spans, flow, arguments. Times change little from event to event.
void put(ByteWriter& to, const Event& event, int64_t before) {
  to.unsigned_number(static_cast<uint64_t>(event.kind) | event.arguments.size() << 3);
  to.unsigned_number(static_cast<uint64_t>(event.name));
  to.number(event.start - before);
  if (event.is_span()) to.number(std::max<int64_t>(event.end - event.start, 0));
  if (event.kind == Kind::counter) to.fixed64(event.flow);
  if (event.kind == Kind::sent || event.kind == Kind::received) to.unsigned_number(event.flow);
  for (int i = 0; i < event.arguments.size(); ++i) {
    const Argument argument = event.arguments[i];
    to.unsigned_number(static_cast<uint64_t>(argument.key) << 1 | (argument.is_text ? 1 : 0));
    to.number(argument.value);
  }
}

Name take_name(ByteReader& from, std::string_view field, const NameTable& names, uint64_t number) {
  if (number >= names.size()) {
    from.fail(fmt::format("{}, one of {}", field, names.size()), fmt::to_string(number));
  }
  return static_cast<Name>(number);
}

Argument take_argument(ByteReader& from, const NameTable& names) {
  const uint64_t key = from.unsigned_number("an argument's key");
  const Name name = take_name(from, "an argument's key", names, key >> 1);
  const int64_t value = from.number("an argument's value");
  if ((key & 1) == 0) return {name, value};
  return {name, take_name(from, "an argument's text", names, static_cast<uint64_t>(value))};
}

int64_t take_time(ByteReader& from, std::string_view field, int64_t before) {
  const int64_t since = from.number(field);
  if (since < -kLatest || since > kLatest || before + since < 0 || before + since > kLatest) {
    from.fail(fmt::format("{} between 0 and 2^60 ns", field), fmt::format("{} ns later", since));
  }
  return before + since;
}

Event take_event(ByteReader& from, const NameTable& names, int64_t before) {
  const uint64_t head = from.unsigned_number("an event's kind");
  if ((head & 7) >= kKinds || head >> 3 > Arguments::kMost) {
    from.fail("an event's kind", fmt::to_string(head));
  }
  Event event;
  event.kind = static_cast<Kind>(head & 7);
  event.name = take_name(from, "an event's name", names, from.unsigned_number("an event's name"));
  event.start = take_time(from, "an event's start", before);
  event.end = event.is_span() ? take_time(from, "an event's end", event.start) : event.start;
  if (event.end < event.start) from.fail("an end after its start", "an earlier one");
  if (event.kind == Kind::counter) event.flow = from.fixed64("a counter's value");
  if (event.kind == Kind::sent || event.kind == Kind::received) {
    event.flow = from.unsigned_number("a message's id");
  }
  for (uint64_t i = 0; i < head >> 3; ++i) event.arguments.add(take_argument(from, names));
  return event;
}

void put_clock(ByteWriter& to, const ClockMap& clock) {
  to.unsigned_number(clock.offsets().size());
  for (const ClockOffset& offset : clock.offsets()) {
    to.number(offset.at);
    to.number(offset.offset);
    to.number(offset.error);
  }
}

ClockMap take_clock(ByteReader& from) {
  std::vector<ClockOffset> offsets(from.count("the number of clock offsets", 3));
  for (ClockOffset& offset : offsets) {
    offset.at = from.number("the time of a clock offset");
    offset.offset = from.number("a clock offset");
    offset.error = from.number("the error of a clock offset");
  }
  return ClockMap(std::move(offsets));
}

NameTable take_names(ByteReader& from) {
  NameTable names;
  const uint64_t count = from.count("the number of names", 2);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view text = from.text("a name");
    const std::string_view category = from.text("a category");
    // "other" comes first and is there already; every further one must be new.
    const auto number = static_cast<uint64_t>(names.intern(text, category));
    if (number != i) from.fail("a new name", fmt::format("'{}' again", text));
  }
  return names;
}

}  // namespace

std::string to_bytes(const RankEvents& events) {
  ByteWriter to;
  to.raw(kMagic);
  to.number(events.rank);
  to.text(events.host);
  put_clock(to, events.clock);
  to.unsigned_number(events.names.size());
  for (size_t i = 0; i < events.names.size(); ++i) {
    const NameTable::Entry& entry = events.names[static_cast<Name>(i)];
    to.text(entry.text);
    to.text(entry.category);
  }
  to.unsigned_number(events.tracks.size());
  for (const TrackEvents& track : events.tracks) {
    to.text(track.name);
    to.number(track.dropped);
    to.unsigned_number(track.events.size());
    int64_t before = 0;
    for (const Event& event : track.events) {
      put(to, event, before);
      before = event.start;
    }
  }
  return to.take();
}

RankEvents events_from_bytes(std::string_view bytes, std::string_view sender) {
  ByteReader from(bytes, fmt::format("events of {}", sender));
  from.magic(kMagic);
  RankEvents events;
  events.rank = static_cast<int>(from.number_within("a rank", 0, kMostRanks));
  events.host = from.text("a host");
  events.clock = take_clock(from);
  events.names = take_names(from);
  const uint64_t tracks = from.count("the number of tracks", 3);
  if (tracks > kMostTracks) from.fail("at most 65,536 tracks", fmt::to_string(tracks));
  for (uint64_t i = 0; i < tracks; ++i) {
    TrackEvents track;
    track.name = from.text("a track's name");
    track.dropped = from.number_within("the number of dropped events", 0, kLatest);
    const uint64_t count = from.count("the number of events", 3);
    track.events.reserve(count);
    for (int64_t before = 0; track.events.size() < count; before = track.events.back().start) {
      track.events.push_back(take_event(from, events.names, before));
    }
    events.tracks.push_back(std::move(track));
  }
  from.end();
  return events;
}

}  // namespace syrtos::trace
