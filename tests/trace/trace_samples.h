#pragma once

#include "syrtos/base/philox.h"
#include "syrtos/trace/events.h"

namespace syrtos::trace {

/// Events of every kind on two tracks, with names that need care; rank, seed -> the same events.
inline RankEvents sample_events(int rank, uint32_t seed = 1, int count = 40) {
  RankEvents events;
  events.rank = rank;
  events.host = rank == 0 ? "a" : "host \"b\"\n";
  const Name names[] = {events.names.intern("forward", "compute"), events.names.intern("conv\\1"),
                        events.names.intern("größe \x01", "net\"work"), events.names.intern("")};
  for (const char* track_name : {"compute", "network in"}) {
    TrackEvents track{track_name, rank * 5, {}};
    int64_t time = 1'000'000'000'000 + rank * 17;
    for (int i = 0; i < count; ++i) {
      const auto words = philox({seed, static_cast<uint32_t>(rank)},
                                {static_cast<uint32_t>(i), track.name.size() > 8, 0, 0});
      time += words[0] % 3000;
      Event event{time, time, 0, {}, names[words[1] % 4], static_cast<Kind>(words[2] % kKinds)};
      if (event.is_span()) event.end += words[3] % 5000;  // many overlap
      if (event.kind == Kind::counter) event.flow = std::bit_cast<uint64_t>(words[3] * 0.001 - 7);
      if (event.kind == Kind::sent || event.kind == Kind::received) {
        if (event.end == event.start) ++event.end;
        event.flow = static_cast<uint64_t>(rank) << 60 | words[3];
      }
      if (event.kind != Kind::counter) {
        for (uint32_t a = 0; a < words[3] % 4; ++a) {
          event.arguments.add(a == 1 ? Argument(names[a], names[words[0] % 4])
                                     : Argument(names[a], int64_t{words[0]} << 20));
        }
      }
      track.events.push_back(event);
    }
    events.tracks.push_back(track);
  }
  return events;
}

}  // namespace syrtos::trace
