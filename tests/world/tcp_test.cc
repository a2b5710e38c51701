#include "syrtos/world/tcp/tcp.h"

#include <gmock/gmock.h>
#include <netinet/tcp.h>

#include <array>
#include <atomic>
#include <thread>

#include "syrtos/base/host_name.h"
#include "syrtos/world/tcp/cluster.h"
#include "tests/world/conformance.h"
#include "tests/world/raw_rank.h"

namespace syrtos::world {
namespace {

using testing::HasSubstr;

WorldKind kind(const std::string& name, int connections, bool shared_memory, bool apart = false) {
  TcpOptions options;
  options.connections = connections;
  options.shared_memory = shared_memory;
  options.lost_after = options.connect_timeout = 60;  // machines are slow at times
  return {name, [=](int ranks) { return std::make_unique<TcpCluster>(ranks, options, apart); }};
}

INSTANTIATE_TEST_SUITE_P(Tcp, WorldConformance,
                         testing::Values(kind("one connection", 1, false),
                                         kind("three connections", 3, false),
                                         kind("one encrypted connection", 1, false, true),
                                         kind("three encrypted connections", 3, false, true),
                                         kind("shared memory", 1, true),
                                         kind("shared memory and three connections", 3, true)));

constexpr size_t kMany = 16'000'000;  // floats: more than sockets hold

uint32_t lane(uint16_t item) { return test_tag(item).lane(); }

TEST(Listener, APortInUseIsNamed) {
  const Listener first("127.0.0.1");
  try {
    const Listener second("127.0.0.1", first.port());
    FAIL() << "two listen at port " << first.port();
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("127.0.0.1 port " + std::to_string(first.port())));
    EXPECT_THAT(error.what(), HasSubstr("in use"));
  }
}

std::string failure_to_meet(TcpOptions options, Listener listener) {
  try {
    const TcpWorld world(std::move(options), std::move(listener));
  } catch (const RunError& error) {
    return error.what();
  }
  return "";
}

TEST(TcpRendezvous, RanksThatDoNotComeAreNamed) {
  Listener listener("127.0.0.1");
  TcpOptions options = two_ranks(listener);
  options.members.push_back({"c", "127.0.0.1", 1});
  options.connect_timeout = 0.5;
  const std::string from_0 = failure_to_meet(options, std::move(listener));
  EXPECT_THAT(from_0, HasSubstr("rank 1 on b"));
  EXPECT_THAT(from_0, HasSubstr("rank 2 on c"));
  options.rank = 1;
  options.members[0].port = Listener("127.0.0.1").port();  // closed again
  const std::string from_1 = failure_to_meet(options, Listener("127.0.0.1"));
  EXPECT_THAT(from_1, HasSubstr("rank 0 on a (127.0.0.1 port"));
  EXPECT_THAT(from_1, HasSubstr("Connection refused"));
}

TEST(TcpRendezvous, ARankWithAnotherTokenIsRefused) {
  Listener listener("127.0.0.1");
  TcpOptions options = two_ranks(listener);
  options.connect_timeout = 2;
  TcpOptions other = options;
  other.rank = 1;
  other.token = "another";
  auto first = std::async(std::launch::async, failure_to_meet, options, std::move(listener));
  EXPECT_THAT(failure_to_meet(other, Listener("127.0.0.1")), HasSubstr("another token"));
  EXPECT_THAT(first.get(), HasSubstr("rank 1 on b"));
}

TEST(TcpRendezvous, StrangersDoNotDisturb) {
  Listener listener("127.0.0.1");
  Listener second("127.0.0.1");
  TcpOptions options = two_ranks(listener);
  options.members[1].port = second.port();
  const Endpoint door = resolve("127.0.0.1", listener.port());
  std::vector<Descriptor> strangers;
  for (int i = 0; i < 300; ++i) strangers.push_back(begin_connect(door));
  const std::string garbage(100'000, 'x');
  for (size_t i = 0; i < 20; ++i) {  // the others say nothing
    pollfd polled{strangers[i].get(), POLLOUT, 0};
    ASSERT_EQ(poll(&polled, 1, 10'000), 1);
    send(strangers[i].get(), garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  auto first = std::async(std::launch::async, [&] {
    TcpWorld world(options, std::move(listener));
    world.run([](World& w) { return pass_around(w, 1000, 3); });
  });
  TcpOptions mine = options;
  mine.rank = 1;
  TcpWorld world(mine, std::move(second));
  world.run([](World& w) { return pass_around(w, 1000, 3); });
  first.get();
}

TEST(TcpRendezvous, WhoGoesWhileMemoryIsSetUpIsNamed) {
  Listener listener("127.0.0.1");
  TcpOptions options = two_ranks(listener);
  for (TcpMember& member : options.members) member.host = "a";
  options.shared_memory = true;
  auto first = std::async(std::launch::async, [&] {
    try {
      const TcpWorld world(options, std::move(listener));
    } catch (const NotMet& error) {
      EXPECT_THAT(error.what(), HasSubstr("rank 1 on a: a rank of this host went away"));
      return error.rank();
    }
    return Rank{-1};
  });
  TcpOptions mine = options;
  mine.rank = 1;
  auto handshake = tcp::Handshake::connecting(
      mine, 0, 0, begin_connect(resolve("127.0.0.1", options.members[0].port)), 0);
  EXPECT_EQ(shake_hands(handshake), tcp::Handshake::State::done) << handshake.why();
  shutdown(handshake.take()->descriptor(), SHUT_RDWR);
  EXPECT_EQ(first.get(), 1);
}

TEST(TcpRendezvous, NobodyCanComeLater) {
  Listener listener("127.0.0.1");
  TcpOptions options = two_ranks(listener);
  options.members.pop_back();
  const TcpWorld world(options, std::move(listener));
  auto late = tcp::Handshake::connecting(
      options, 0, 0, begin_connect(resolve("127.0.0.1", options.members[0].port)), 0);
  EXPECT_EQ(shake_hands(late), tcp::Handshake::State::failed);
  EXPECT_EQ(late.why(), "Connection refused");
}

Task<> receive_twice(World& world) {
  // The first is complete before the peer is lost, whenever it is asked for.
  bool lost = false;
  try {
    co_await expect_values(world, 1, test_tag(2), std::vector<float>(1000, 2));
  } catch (const PeerLost& error) {
    lost = true;
    EXPECT_THAT(error.what(), HasSubstr("rank 1 on b is lost (connection closed)"));
  }
  EXPECT_TRUE(lost);
  co_await expect_values(world, 1, test_tag(1), std::vector<float>(10, 1));
}

TEST(TcpWorld, APeerThatDiesInMidMessageIsLostButWhatWasCompleteArrives) {
  RawRank raw(receive_twice);
  raw.write_frame(lane(1), 0, 0, 10, 10, 1);
  raw.write_frame(lane(2), 0, 0, 500, 1000, 2);
  const tcp::FrameHeader half{.lane = lane(2), .bytes = 2000, .offset = 2000, .total = 4000};
  raw.write(&half, sizeof(half));
  raw.write("half", 4);
  raw.close();
  EXPECT_EQ(text_of(raw.finish()), "");
}

TEST(TcpWorld, ASilentPeerIsLost) {
  RawRank raw([](World& world) { return receive_in_vain(world, 1); }, 0.1);
  const auto error = raw.finish();
  EXPECT_TRUE(is_a<PeerLost>(error));
  EXPECT_THAT(text_of(error), HasSubstr("silent for 0.1 s"));
}

Task<> receive_large(World& world) {
  return expect_values(world, 1, test_tag(1), std::vector<float>(50'000, 1));
}

TEST(TcpWorld, APeerWhoseMessageComesSlowlyIsNotLost) {
  constexpr double kLostAfter = 1;
  RawRank raw(receive_large, kLostAfter);
  const std::vector<float> values(50'000, 1);
  const auto bytes = static_cast<uint32_t>(values.size() * sizeof(float));
  const tcp::FrameHeader frame{.lane = lane(1), .bytes = bytes, .total = bytes};
  raw.write(&frame, sizeof(frame));
  for (size_t i = 0; i < 6; ++i) {  // a quarter of the time each
    raw.read_heartbeat();
    raw.write(&values[i], sizeof(float));
  }
  raw.write(&values[6], bytes - 6 * sizeof(float));
  raw.close();
  EXPECT_EQ(text_of(raw.finish()), "");
}

TEST(TcpWorld, APeerThatSendsGarbageIsLost) {
  const auto after = [](const tcp::FrameHeader& bad) {
    RawRank raw([](World& world) { return receive_in_vain(world, 1); });
    raw.write_frame(lane(1), 0, 0, 10, 10, 1);
    raw.write(&bad, sizeof(bad));
    return text_of(raw.finish());
  };
  const tcp::FrameHeader good{.lane = lane(3), .bytes = 8, .total = 8};
  std::vector<tcp::FrameHeader> bad(8, good);
  bad[0].magic = 0x4745;
  bad[1].type = static_cast<tcp::FrameType>(99);
  bad[2].bytes = 0xffffffff;
  bad[3].total = ~uint64_t{0};
  bad[4].offset = 4;                                     // past the end
  bad[5].offset = ~uint64_t{0} - 3;                      // wraps around
  bad[6] = {.lane = lane(1), .bytes = 40, .total = 40};  // of a message that is complete
  bad[7].type = tcp::FrameType::withdrawn;               // has no bytes
  for (const tcp::FrameHeader& frame : bad) {
    EXPECT_THAT(after(frame), HasSubstr("sent garbage")) << &frame - bad.data();
  }
}

Task<> send_low_then_urgent(World& world, std::promise<void>& both_started) {
  Started low(world, send_values(world, 1, test_tag(1), std::vector<float>(kMany, 1), 0));
  Started urgent(world, send_values(world, 1, test_tag(2), std::vector<float>(10, 2), 5));
  both_started.set_value();
  co_await urgent.join();
  co_await low.join();
}

TEST(TcpWorld, UrgentMessagesOvertake) {
  std::promise<void> both_started;
  RawRank raw([&](World& world) { return send_low_then_urgent(world, both_started); });
  both_started.get_future().wait();
  size_t before = 0;
  size_t after = 0;
  bool urgent = false;
  std::vector<float> values;
  while (before + after < kMany) {
    const tcp::FrameHeader frame = raw.read_frame(values);
    if (frame.lane == lane(2)) {
      urgent = true;
    } else {
      EXPECT_EQ(frame.offset, (before + after) * sizeof(float));
      (urgent ? after : before) += values.size();
    }
  }
  EXPECT_TRUE(urgent);
  EXPECT_GT(after, 0U) << "the urgent message came last";
  raw.close();
  EXPECT_EQ(text_of(raw.finish()), "");
}

Task<> cancel_a_send(World& world, std::promise<void>& cancelled) {
  {
    Started sending(world, send_values(world, 1, test_tag(1), std::vector<float>(kMany, 1)));
    EXPECT_FALSE(sending.done());
  }
  Started next(world, send_values(world, 1, test_tag(1), std::vector<float>(10, 2)));
  cancelled.set_value();
  co_await next.join();
}

TEST(TcpWorld, ACancelledSendEndsAtAFrameAndIsWithdrawn) {
  std::promise<void> cancelled;
  RawRank raw([&](World& world) { return cancel_a_send(world, cancelled); });
  cancelled.get_future().wait();
  size_t got = 0;
  std::vector<float> values;
  tcp::FrameHeader frame = raw.read_frame(values);
  for (; frame.type == tcp::FrameType::data; frame = raw.read_frame(values)) {
    EXPECT_EQ(values, std::vector<float>(values.size(), 1));
    got += values.size();
  }
  EXPECT_EQ(frame.type, tcp::FrameType::withdrawn);
  EXPECT_EQ(frame.sequence, 0U);
  EXPECT_EQ(frame.offset, got * sizeof(float));
  EXPECT_LT(got, kMany);
  frame = raw.read_frame(values);
  EXPECT_EQ(frame.sequence, 1U);
  EXPECT_EQ(values, std::vector<float>(10, 2));
  raw.close();
  EXPECT_EQ(text_of(raw.finish()), "");
}

Task<> cancel_sends_between_worlds(World& world) {
  constexpr int kTimes = 5;
  for (uint32_t i = 0; i < kTimes; ++i) {
    if (world.rank() == 0) {
      {
        Started sending(world, send_values(world, 1, test_tag(1, i), ramp(kMany, 1)));
        EXPECT_FALSE(sending.done());
      }
      co_await send_values(world, 1, test_tag(2, i), ramp(1, 1));
      co_await send_values(world, 1, test_tag(1, i), ramp(1000, 2));
      co_await expect_values(world, 1, test_tag(3, i), ramp(1, 1));
    } else {
      co_await expect_values(world, 0, test_tag(2, i), ramp(1, 1));
      co_await expect_values(world, 0, test_tag(1, i), ramp(1000, 2));
      co_await send_values(world, 0, test_tag(3, i), ramp(1, 1));
    }
  }
}

TEST(TcpWorld, TheMessageAfterACancelledOneArrives) {
  for (const bool shared_memory : {false, true}) {
    TcpOptions options;
    options.connections = 1;
    options.shared_memory = shared_memory;
    options.lost_after = 60;
    TcpCluster cluster(2, options);
    run_all(cluster, cancel_sends_between_worlds);
  }
}

Task<> refuse_an_offer(World& world) {
  if (world.rank() == 1) {
    Started large(world, send_values(world, 0, test_tag(1), ramp(kMany, 1)));
    co_await send_values(world, 0, test_tag(2), ramp(1, 1));
    co_await large.join();
    co_await send_values(world, 0, test_tag(1), ramp(3, 3));
    co_return;
  }
  co_await expect_values(world, 1, test_tag(2), ramp(1, 1));
  {
    // It is there, in its sender's memory, and would be fetched next.
    Started receiving(world, expect_values(world, 1, test_tag(1), ramp(kMany, 1)));
    EXPECT_FALSE(receiving.done());
  }
  co_await expect_values(world, 1, test_tag(1), ramp(3, 3));
}

TEST(TcpWorld, AMessageInCommonMemoryWhoseRecvWasCancelledIsGivenBack) {
  TcpOptions options;
  options.lost_after = 60;
  TcpCluster cluster(2, options);
  run_all(cluster, refuse_an_offer);
}

Task<> cancel_a_recv(World& world, std::promise<void>& cancelled) {
  {
    Started receiving(world, expect_values(world, 1, test_tag(1), std::vector<float>(2000, 1)));
    co_await expect_values(world, 1, test_tag(2), std::vector<float>(1, 2));
    EXPECT_FALSE(receiving.done());
  }
  cancelled.set_value();
  co_await expect_values(world, 1, test_tag(1), std::vector<float>(3, 3));
}

TEST(TcpWorld, TheRestOfAMessageWhoseRecvWasCancelledIsThrownAway) {
  std::promise<void> cancelled;
  RawRank raw([&](World& world) { return cancel_a_recv(world, cancelled); });
  raw.write_frame(lane(1), 0, 0, 1000, 2000, 1);
  raw.write_frame(lane(2), 0, 0, 1, 1, 2);
  cancelled.get_future().wait();
  raw.write_frame(lane(1), 0, 1000, 1000, 2000, 1);
  raw.write_frame(lane(1), 1, 0, 3, 3, 3);
  EXPECT_EQ(text_of(raw.finish()), "");
}

Task<> receive_what_is_given_up(World& world) {
  bool thrown = false;
  try {
    co_await expect_values(world, 1, test_tag(1), std::vector<float>(2000, 1));
  } catch (const PeerLost& error) {
    thrown = true;
    EXPECT_THAT(error.what(), HasSubstr("rank 1 on b is lost (it gave the message up)"));
  }
  EXPECT_TRUE(thrown);
  co_await expect_values(world, 1, test_tag(1), std::vector<float>(3, 3));
}

TEST(TcpWorld, AMessageThatIsGivenUpMidwayIsNamedAndTheNextArrives) {
  RawRank raw(receive_what_is_given_up);
  raw.write_frame(lane(1), 0, 0, 1000, 2000, 1);
  const tcp::FrameHeader end{
      .type = tcp::FrameType::withdrawn, .lane = lane(1), .offset = 4000, .total = 8000};
  raw.write(&end, sizeof(end));
  raw.write_frame(lane(1), 1, 0, 3, 3, 3);
  EXPECT_EQ(text_of(raw.finish()), "");
}

Task<> wait_for_the_end_of_rank_1(World& world) {
  if (world.rank() == 0) co_await receive_in_vain(world, 1);
}

TEST(TcpWorld, APeerThatEndedIsNotCalledBroken) {
  TcpCluster cluster(2);
  const auto errors = cluster.run(wait_for_the_end_of_rank_1);
  EXPECT_THAT(text_of(errors[0]),
              HasSubstr("rank 1 on " + host_name() + " is lost (it has ended)"));
}

Task<> note_threads(World& world, std::vector<std::thread::id>& threads) {
  threads.push_back(std::this_thread::get_id());
  const auto note = [&threads] { threads.push_back(std::this_thread::get_id()); };
  co_await world.compute(0, note, Where::pool);
  co_await world.compute(0, note, Where::here);
}

TEST(TcpWorld, PoolWorkRunsOnTheThreadThatCalledRun) {
  Listener listener("127.0.0.1");
  TcpOptions options = two_ranks(listener);
  options.members.pop_back();
  TcpWorld world(options, std::move(listener));
  std::vector<std::thread::id> threads;
  world.run([&](World& w) { return note_threads(w, threads); });
  ASSERT_EQ(threads.size(), 3U);
  EXPECT_EQ(threads[1], std::this_thread::get_id());
  EXPECT_NE(threads[0], threads[1]);
  EXPECT_EQ(threads[0], threads[2]);
}

struct Work {
  std::atomic<bool> started = false;
  std::atomic<bool> cancelling = false;
  std::atomic<bool> ended = false;
  std::atomic<bool> second = false;
};

Task<> compute_until_cancelled(World& world, Work& work) {
  const auto run = [&work] {
    work.started = true;
    while (!work.cancelling) std::this_thread::yield();
    work.ended = true;
  };
  co_await world.compute(0, run);
}

Task<> compute_second(World& world, Work& work) {
  const auto run = [&work] { work.second = true; };
  co_await world.compute(0, run);
}

Task<> cancel_work(World& world, Work& work) {
  Started first(world, compute_until_cancelled(world, work));
  Started second(world, compute_second(world, work));
  while (!work.started) co_await world.sleep(0.001);
  second.cancel();
  work.cancelling = true;
  first.cancel();
  EXPECT_TRUE(work.ended);
  EXPECT_FALSE(work.second);
}

// What has come of a message that is late is not thrown away.
TEST(TcpWorld, WhoIsPatientGetsAMessageOfWhichAHalfCameInTime) {
  constexpr size_t kCount = 1024;
  std::vector<float> values(kCount);
  std::atomic<bool> late = false;
  RawRank other([&](World& world) -> Task<> {
    world.set_deadline(0.05);
    Started receives(world, [](World& w, std::vector<float>& to) -> Task<> {
      co_await w.recv(1, test_tag(1), {to.data(), to.size() * sizeof(float)},
                      {.silence = Patience::kForever});
    }(world, values));
    co_await world.sleep(0.2);
    late = true;
    co_await receives.join();
  });
  other.write_frame(lane(1), 0, 0, kCount / 2, kCount, 1);
  while (!late) std::this_thread::yield();
  other.write_frame(lane(1), 0, kCount / 2, kCount / 2, kCount, 2);
  EXPECT_EQ(other.finish(), nullptr);
  EXPECT_EQ(values.front(), 1);
  EXPECT_EQ(values.back(), 2);
}

TEST(TcpWorld, ARankThatSaysNothingAtAllIsGivenUp) {
  std::vector<std::string> told;
  RawRank other([&](World& world) -> Task<> {
    world.set_deadline(0.05);
    world.tell_of_silence([&](const std::string& text) { told.push_back(text); });
    char never = 0;
    try {
      co_await world.recv(1, test_tag(1), {&never, 1}, {.silence = 0.2});
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.rank(), 1);
      EXPECT_THAT(lost.what(), HasSubstr("it has said nothing for"));
    }
    EXPECT_TRUE(world.is_lost(1));
  });
  EXPECT_EQ(other.finish(), nullptr);
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told[0], HasSubstr("rank 1 on b has said nothing for"));
}

TEST(TcpWorld, CancelledWorkIsNotBegunOrIsWaitedFor) {
  TcpCluster cluster(1);
  Work work;
  run_all(cluster, [&](World& world) { return cancel_work(world, work); });
  EXPECT_FALSE(work.second);
}

std::string congestion_control(int socket) {
  std::array<char, 16> name{};
  socklen_t length = name.size();
  if (getsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, name.data(), &length) != 0) return "unknown";
  return name.data();
}

TEST(Sockets, OfMessagesAreCubicWhereTheKernelLetsThem) {
  const auto make = [] { return Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); };
  const Descriptor asked = make();
  (void)setsockopt(asked.get(), IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
  const Descriptor made = make();
  prepare_for_messages(made.get(), 10);
  EXPECT_EQ(congestion_control(made.get()), congestion_control(asked.get()));
}

}  // namespace
}  // namespace syrtos::world
