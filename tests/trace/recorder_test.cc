#include "syrtos/trace/recorder.h"

#include <gmock/gmock.h>

#include <bit>
#include <thread>
#include <vector>

#include "syrtos/base/error.h"

namespace syrtos::trace {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(Recorder, KeepsWhatHappenedInTheOrderOfTheCalls) {
  Recorder recorder({.rank = 3, .host = "c"});
  const Name forward = recorder.name("forward", "compute"), bytes = recorder.name("bytes"),
             layer = recorder.name("layer"), conv = recorder.name("conv1");
  Track* track = recorder.track("compute");
  track->span(forward, 100, 250, {{bytes, 42}, {layer, conv}});
  track->instant(forward, 260);
  track->counter(bytes, 270, 0.5);
  track->sent(conv, 280, 290, flow_id(3, 1, 7), {{bytes, -1}});
  track->received(conv, 300, 310, flow_id(1, 3, 9));

  const RankEvents events = recorder.events();
  EXPECT_EQ(events.rank, 3);
  EXPECT_EQ(events.host, "c");
  EXPECT_EQ(events.names[forward], (NameTable::Entry{"forward", "compute"}));
  ASSERT_THAT(events.tracks, SizeIs(1));
  EXPECT_EQ(events.tracks[0].name, "compute");
  EXPECT_THAT(events.tracks[0].events,
              ElementsAre(Event{100, 250, 0, {{bytes, 42}, {layer, conv}}, forward, Kind::span},
                          Event{260, 260, 0, {}, forward, Kind::instant},
                          Event{270, 270, std::bit_cast<uint64_t>(0.5), {}, bytes, Kind::counter},
                          Event{280, 290, flow_id(3, 1, 7), {{bytes, -1}}, conv, Kind::sent},
                          Event{300, 310, flow_id(1, 3, 9), {}, conv, Kind::received}));
  EXPECT_EQ(events.tracks[0].events[2].number(), 0.5);
  EXPECT_TRUE(events.tracks[0].events[0].arguments[1].is_text);
  EXPECT_EQ(events.count(), 5);
}

TEST(Recorder, GivesOneNumberToANameWithItsCategory) {
  Recorder recorder({});
  const Name a = recorder.name("send", "network");
  EXPECT_EQ(recorder.name("send", "network"), a);
  EXPECT_NE(recorder.name("send", "server"), a);
  EXPECT_NE(recorder.name("send"), a);
  EXPECT_EQ(recorder.track("x"), recorder.track("x"));
  EXPECT_NE(recorder.track("x"), recorder.track("y"));
}

TEST(Recorder, DoesNotGrowWithNamesThatAreMadeUp) {
  NameTable names;
  for (int i = 0; i < 70'000; ++i) names.intern(fmt::format("name {}", i));
  EXPECT_EQ(names.size(), 65'536U);
  EXPECT_EQ(names.intern("one more"), Name{});
  EXPECT_EQ(names[Name{}].text, "other");
  EXPECT_NE(names.intern("name 5"), Name{}) << "those that are known stay";
}

TEST(Recorder, KeepsTheFirstArgumentsOfTooMany) {
  Recorder recorder({});
  const Name key = recorder.name("key");
  recorder.track("t")->span(key, 1, 2, {{key, 1}, {key, 2}, {key, 3}, {key, 4}});
  const RankEvents events = recorder.events();
  const Arguments& kept = events.tracks[0].events[0].arguments;
  ASSERT_EQ(kept.size(), 3);
  EXPECT_EQ(kept[2].value, 3);
}

TEST(Recorder, SpansEndWithTheirBlock) {
  Recorder recorder({});
  const Name outer = recorder.name("outer"), inner = recorder.name("inner");
  Track* track = recorder.track("t");
  const int64_t before = now();
  {
    Span first(track, outer, {{outer, 1}});
    { const Span second(track, inner); }
    first.add({inner, 2});
  }
  const int64_t after = now();
  const RankEvents recorded = recorder.events();
  const auto& events = recorded.tracks[0].events;
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].name, inner);
  EXPECT_EQ(events[1].name, outer);
  EXPECT_EQ(events[1].arguments, (Arguments{{outer, 1}, {inner, 2}}));
  EXPECT_LE(before, events[1].start);
  EXPECT_LE(events[1].start, events[0].start);
  EXPECT_LE(events[0].start, events[0].end);
  EXPECT_LE(events[0].end, events[1].end);
  EXPECT_LE(events[1].end, after);
}

TEST(Recorder, ThatIsNotThereCostsNobodyACheck) {
  Recorder* none = nullptr;
  Track* track = track_of(none, "t");
  EXPECT_EQ(track, nullptr);
  Span span(track, name_of(none, "x"));
  span.add({Name{}, 1});
}

TEST(Recorder, SwitchedOffRecordsNothingButSpansThatWereOpen) {
  Recorder recorder({.on = false});
  const Name name = recorder.name("x");
  Track* track = recorder.track("t");
  {
    const Span begun_while_off(track, name);
    track->span(name, 1, 2);
    track->instant(name, 1);
    track->counter(name, 1, 1);
    track->sent(name, 1, 2, 3);
    track->received(name, 1, 2, 3);
    recorder.turn(true);
  }
  EXPECT_EQ(recorder.events().count(), 0);
  {
    const Span begun_while_on(track, name);
    recorder.turn(false);
  }
  EXPECT_EQ(recorder.events().count(), 1);
  EXPECT_EQ(recorder.dropped(), 0) << "what was not wanted is not missing";
}

TEST(Recorder, ThatIsFullStopsAndSaysHowManyItDropped) {
  for (const int64_t most : {0, 1, 1023, 1024, 1025, 3000}) {
    Recorder recorder({.max_events = most});
    const Name name = recorder.name("x");
    Track* track = recorder.track("t");
    for (int i = 0; i < 4000; ++i) track->span(name, i, i + 1);
    const RankEvents events = recorder.events();
    EXPECT_EQ(events.count(), most);
    EXPECT_EQ(recorder.dropped(), 4000 - most);
    EXPECT_EQ(events.dropped(), 4000 - most);
    for (int64_t i = 0; i < most; ++i) ASSERT_EQ(events.tracks[0].events[i].start, i);
  }
}

TEST(Recorder, TakesEventsFromThreadsAtTheSameTimeWhileItIsCopied) {
  constexpr int kThreads = 4, kEvents = 20'000;
  Recorder recorder({});
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&recorder, t] {
      Track* track = recorder.track(fmt::format("thread {}", t));
      const Name name = recorder.name(fmt::format("work of {}", t));
      for (int i = 0; i < kEvents; ++i) track->span(name, i, i + t, {{name, i}});
    });
  }
  const auto check = [](const RankEvents& events) {
    for (const TrackEvents& track : events.tracks) {
      const int t = track.name.back() - '0';
      for (size_t i = 0; i < track.events.size(); ++i) {
        const Event& event = track.events[i];
        ASSERT_EQ(event.start, static_cast<int64_t>(i));
        ASSERT_EQ(event.end, event.start + t);
        ASSERT_EQ(event.arguments[0].value, event.start);
        ASSERT_EQ(events.names[event.name].text, fmt::format("work of {}", t));
      }
    }
  };
  for (int i = 0; i < 20; ++i) check(recorder.events());
  for (std::thread& thread : threads) thread.join();
  const RankEvents events = recorder.events();
  check(events);
  EXPECT_EQ(events.count(), kThreads * kEvents);
}

TEST(Recorder, ThatIsFullCountsWhatAllThreadsLose) {
  constexpr int kThreads = 4, kEvents = 5000;
  Recorder recorder({.max_events = 7777});
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&recorder, t] {
      Track* track = recorder.track(fmt::format("thread {}", t));
      for (int i = 0; i < kEvents; ++i) track->instant(Name{}, i);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const RankEvents events = recorder.events();
  EXPECT_LE(events.count(), 7777);
  EXPECT_EQ(events.count() + events.dropped(), kThreads * kEvents);
}

TEST(Recorder, FlowIdsDifferBetweenPairsAndMessages) {
  EXPECT_NE(flow_id(0, 1, 5), flow_id(1, 0, 5));
  EXPECT_NE(flow_id(0, 1, 5), flow_id(0, 1, 6));
  EXPECT_EQ(flow_id(2, 7, 5), flow_id(2, 7, 5));
}

}  // namespace
}  // namespace syrtos::trace
