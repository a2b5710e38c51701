#include "syrtos/trace/trace_bytes.h"

#include <gmock/gmock.h>

#include "syrtos/base/error.h"
#include "tests/support/mutator.h"
#include "tests/trace/trace_samples.h"

namespace syrtos::trace {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& bytes) {
  try {
    events_from_bytes(bytes, "rank 2");
  } catch (const RunError& error) {
    return error.what();
  }
  return "was accepted";
}

TEST(TraceBytes, GiveTheSameEventsAgain) {
  for (int rank = 0; rank < 3; ++rank) {
    RankEvents events = sample_events(rank, 5, 300);
    if (rank > 0) events.clock = ClockMap({{1000, -77, 3}, {1'000'000, -70, 4}});
    EXPECT_EQ(events_from_bytes(to_bytes(events), "it"), events);
  }
  EXPECT_EQ(events_from_bytes(to_bytes(RankEvents{}), "it"), RankEvents{});
}

TEST(TraceBytes, KeepExtremeNumbers) {
  RankEvents events;
  Event span{0, int64_t{1} << 60, 0, {}, {}, Kind::span};
  span.arguments = {{Name{}, INT64_MIN}, {Name{}, INT64_MAX}, {Name{}, Name{}}};
  const Event sent{5, 6, UINT64_MAX, {}, {}, Kind::sent};
  events.tracks.push_back({"", 0, {span, sent, span}});
  EXPECT_EQ(events_from_bytes(to_bytes(events), "it"), events);
}

TEST(TraceBytes, AreFew) {
  RankEvents events;
  const Name name = events.names.intern("forward", "compute");
  TrackEvents track{"compute", 0, {}};
  for (int64_t i = 0; i < 10'000; ++i) {
    track.events.push_back({i * 50'000, i * 50'000 + 30'000, 0, {{name, i}}, name, Kind::span});
  }
  events.tracks.push_back(track);
  EXPECT_LT(to_bytes(events).size(), 14U * 10'000);
}

TEST(TraceBytes, ThatAreCutAnywhereAreRefusedWithTheOffset) {
  const std::string bytes = to_bytes(sample_events(1));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string text = refusal(bytes.substr(0, size));
    ASSERT_THAT(text, HasSubstr("events of rank 2: expected")) << size;
    ASSERT_THAT(text, HasSubstr("at offset"));
  }
  EXPECT_THAT(refusal(bytes + "x"), HasSubstr("found 1 bytes more"));
}

TEST(TraceBytes, ThatClaimWhatTheyCannotHoldAreRefused) {
  EXPECT_THAT(refusal("something else altogether"), HasSubstr("'syrtos events 1\n' at offset 0"));
  // Rank 0, no host, no clock, no names, one track "" without drops, and 2^40 events.
  const std::string many = std::string("syrtos events 1\n") + std::string("\0\0\0\0\1\0\0", 7) +
                           "\x80\x80\x80\x80\x80\x20";
  EXPECT_THAT(refusal(many), HasSubstr("at most 0 in what is left at offset 23"));
}

TEST(TraceBytes, ThatAreDamagedNeverCrashAndStaySmall) {
  const std::string bytes = to_bytes(sample_events(1)), other = to_bytes(sample_events(2, 9));
  int refused = 0;
  for (uint32_t round = 0; round < 5000; ++round) {
    const std::string damaged = Mutator(1, round).damage(bytes, other);
    try {
      const RankEvents events = events_from_bytes(damaged, "rank 2");
      // What is accepted is whole: it can be sent on.
      ASSERT_EQ(events_from_bytes(to_bytes(events), "again"), events) << round;
    } catch (const RunError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 2000);
}

}  // namespace
}  // namespace syrtos::trace
