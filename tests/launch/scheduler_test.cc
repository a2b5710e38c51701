#include "syrtos/launch/scheduler.h"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/socket.h>

#include <future>

#include "syrtos/base/error.h"
#include "syrtos/base/secret.h"
#include "syrtos/launch/membership.h"
#include "syrtos/launch/wait.h"
#include "syrtos/world/socket.h"

namespace syrtos::launch {
namespace {

using testing::HasSubstr;
using Joined = std::future<std::unique_ptr<Membership>>;

constexpr auto kLongEnough = std::chrono::seconds(30);

// The scheduler runs on the test's thread, the ranks on others.
class SchedulerTest : public testing::Test {
 protected:
  explicit SchedulerTest(int workers = 2, int servers = 1) {
    const std::vector<Host> hosts = {this_machine(2, workers + servers)};
    scheduler_ = std::make_unique<Scheduler>("127.0.0.1", 0, random_token(),
                                             place(workers, servers, hosts), hosts);
  }

  JoinOptions options(Rank rank) const {
    JoinOptions options;
    options.invitation = {.rank = rank,
                          .role = Role::worker,
                          .cores = 1,
                          .host = "localhost",
                          .address = "127.0.0.1",
                          .scheduler_address = "127.0.0.1",
                          .scheduler_port = scheduler_->port(),
                          .output_columns = 0,
                          .error_columns = 0};
    options.token = scheduler_->token();
    options.port = static_cast<uint16_t>(5000 + rank);
    options.grace = std::chrono::hours(1);  // the test's process is not to be ended
    return options;
  }
  static Joined begin(const JoinOptions& options) {
    return std::async(std::launch::async, [options] { return join(options); });
  }

  bool step_until(const std::function<bool()>& condition) {
    const Clock::time_point deadline = Clock::now() + kLongEnough;
    while (!condition()) {
      if (Clock::now() > deadline) return false;
      pollfd event{.fd = scheduler_->descriptor(), .events = POLLIN, .revents = 0};
      poll(&event, 1, 5);
      scheduler_->step();
    }
    return true;
  }
  bool step_until_ready(const Joined& joined) {
    return step_until(
        [&] { return joined.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  }
  std::string failure(Joined joined) {
    if (!step_until_ready(joined)) return "still waits";
    try {
      joined.get();
    } catch (const RunError& error) {
      return error.what();
    }
    return "has joined";
  }
  std::vector<std::unique_ptr<Membership>> join_all() {
    std::vector<Joined> joining;
    for (const Seat& seat : scheduler_->seats()) joining.push_back(begin(options(seat.rank)));
    std::vector<std::unique_ptr<Membership>> members;
    for (Joined& joined : joining) {
      EXPECT_TRUE(step_until_ready(joined));
      members.push_back(joined.get());
    }
    return members;
  }
  Descriptor knock() const {
    Descriptor socket = world::begin_connect(world::resolve("127.0.0.1", scheduler_->port()));
    pollfd event{.fd = socket.get(), .events = POLLOUT, .revents = 0};
    poll(&event, 1, 1000);
    return socket;
  }
  Seat::State state(Rank rank) const { return scheduler_->seat(rank).state; }

  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerTest, TellsEveryoneWhoIsWhere) {
  const auto members = join_all();
  EXPECT_TRUE(scheduler_->all_joined());
  for (size_t rank = 0; rank < members.size(); ++rank) {
    const Assignment& assignment = members[rank]->assignment();
    EXPECT_EQ(assignment.rank, static_cast<Rank>(rank));
    EXPECT_EQ(assignment.token, scheduler_->token());
    ASSERT_EQ(assignment.members.size(), 3u);
    EXPECT_EQ(assignment.members[1].port, 5001);
    EXPECT_EQ(assignment.members[1].address, "127.0.0.1");
    EXPECT_EQ(assignment.members[1].role, Role::worker);
    EXPECT_EQ(assignment.members[2].role, Role::server);
    EXPECT_EQ(assignment.members[2].host, "localhost");
  }
  EXPECT_EQ(scheduler_->seat(1).process, getpid());
}

TEST_F(SchedulerTest, HearsWhatRanksDoAndHowTheyGo) {
  auto members = join_all();
  members[0]->report("step 1");
  members[0]->report("step 2");
  EXPECT_TRUE(step_until([&] { return scheduler_->seat(0).doing == "step 2"; }));
  members[1]->blame(2);
  EXPECT_TRUE(step_until([&] { return scheduler_->seat(1).blames == 2; }));
  members[0]->leave();
  EXPECT_TRUE(step_until([&] { return state(0) == Seat::State::left; }));
  members[1].reset();
  EXPECT_TRUE(step_until([&] { return state(1) == Seat::State::lost; }));
  members[0].reset();
  EXPECT_EQ(state(0), Seat::State::left);
  EXPECT_EQ(state(2), Seat::State::joined);
}

TEST_F(SchedulerTest, AsksRanksToStopAndTellsThemWhenAllIsOver) {
  std::vector<Joined> joining;
  std::array<std::promise<std::string>, 3> reasons;
  for (const Seat& seat : scheduler_->seats()) {
    JoinOptions with = options(seat.rank);
    with.ended = [&reason = reasons[static_cast<size_t>(seat.rank)]](const std::string& why) {
      reason.set_value(why);
    };
    joining.push_back(begin(with));
  }
  std::vector<std::unique_ptr<Membership>> members;
  for (Joined& joined : joining) {
    ASSERT_TRUE(step_until_ready(joined));
    members.push_back(joined.get());
  }
  EXPECT_FALSE(members[2]->stop_requested());
  scheduler_->stop(2);
  EXPECT_TRUE(step_until([&] { return members[2]->stop_requested(); }));
  EXPECT_FALSE(members[0]->stop_requested());
  scheduler_->end("rank 1 failed");
  for (auto& reason : reasons) EXPECT_EQ(reason.get_future().get(), "rank 1 failed");
}

TEST_F(SchedulerTest, WhatIsSaidRightAfterTheTableIsHeard) {
  std::vector<Joined> joining;
  for (const Seat& seat : scheduler_->seats()) joining.push_back(begin(options(seat.rank)));
  ASSERT_TRUE(step_until([&] { return scheduler_->all_joined(); }));
  scheduler_->stop();  // ranks read both at once
  for (Joined& joined : joining) {
    ASSERT_TRUE(step_until_ready(joined));
    const auto member = joined.get();
    EXPECT_TRUE(step_until([&] { return member->stop_requested(); }));
  }
}

TEST_F(SchedulerTest, ItsEndEndsTheRanks) {
  std::promise<std::string> reason;
  JoinOptions with = options(0);
  with.ended = [&](const std::string& why) { reason.set_value(why); };
  Joined first = begin(with);
  Joined second = begin(options(1));
  Joined third = begin(options(2));
  ASSERT_TRUE(step_until_ready(first) && step_until_ready(second) && step_until_ready(third));
  const auto member = first.get();
  scheduler_.reset();
  EXPECT_EQ(reason.get_future().get(), "the launcher is gone");
}

TEST_F(SchedulerTest, AWrongTokenDoesNotJoin) {
  JoinOptions wrong = options(0);
  wrong.token = random_token();
  wrong.timeout = std::chrono::milliseconds(200);
  EXPECT_THAT(failure(begin(wrong)), HasSubstr("the token is not this job's"));
  EXPECT_EQ(state(0), Seat::State::expected);
  EXPECT_GT(scheduler_->strangers_refused(), 0);
  join_all();
  EXPECT_TRUE(scheduler_->all_joined());
}

TEST_F(SchedulerTest, ARankJoinsOnceAndMustExist) {
  Joined first = begin(options(0));
  ASSERT_TRUE(step_until([&] { return state(0) == Seat::State::joined; }));
  EXPECT_THAT(failure(begin(options(0))), HasSubstr("rank 0 on localhost has joined already"));
  EXPECT_THAT(failure(begin(options(3))), HasSubstr("there is no rank 3 in this job"));
  Joined second = begin(options(1));
  Joined third = begin(options(2));
  EXPECT_TRUE(step_until_ready(first) && step_until_ready(second) && step_until_ready(third));
}

// The connection of a process that was given up may end long after another one has its seat.
TEST_F(SchedulerTest, WhoWasReplacedTakesNobodyAlongWhenItGoes) {
  auto members = join_all();
  scheduler_->expect(1);
  Joined again = begin(options(1));
  ASSERT_TRUE(step_until([&] { return state(1) == Seat::State::joined; }));
  members[1].reset();
  // Whoever asks now is answered after the end of that connection was heard of.
  EXPECT_THAT(failure(begin(options(2))), HasSubstr("has joined already"));
  EXPECT_EQ(state(1), Seat::State::joined);
  scheduler_->form_team({0, 1, 2});
  EXPECT_TRUE(step_until_ready(again));
  EXPECT_EQ(again.get()->assignment().team, 2);
}

TEST_F(SchedulerTest, WaitingRanksHaveADeadlineAndHearOfTheEnd) {
  JoinOptions hasty = options(0);
  hasty.timeout = std::chrono::milliseconds(100);
  EXPECT_THAT(failure(begin(hasty)), HasSubstr("waited"));
  Joined waiting = begin(options(1));
  ASSERT_TRUE(step_until([&] { return state(1) == Seat::State::joined; }));
  scheduler_->end("rank 2 on localhost did not join");
  EXPECT_THAT(failure(std::move(waiting)), HasSubstr("rank 2 on localhost did not join"));
}

TEST_F(SchedulerTest, WhatWasOverheardCannotBeSaidAgain) {
  // Somebody between a rank and the scheduler hears its request to join, and says it again.
  const world::Listener listener("127.0.0.1");
  JoinOptions led_astray = options(0);
  led_astray.invitation.scheduler_port = listener.port();
  led_astray.timeout = std::chrono::milliseconds(500);
  Joined joining = begin(led_astray);
  pollfd event{.fd = listener.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&event, 1, 10000), 1);
  const Descriptor rank(accept4(listener.descriptor(), nullptr, nullptr, 0));
  // Carries everything between the rank and the scheduler once, and keeps what the rank said.
  const Descriptor between = knock();
  std::string heard;
  const auto carry = [](const Descriptor& from, const Descriptor& to, std::string* kept) {
    std::array<char, 4096> block;
    const ssize_t count = recv(from.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (count <= 0) return;
    EXPECT_EQ(send(to.get(), block.data(), static_cast<size_t>(count), MSG_NOSIGNAL), count);
    if (kept != nullptr) kept->append(block.data(), static_cast<size_t>(count));
  };
  ASSERT_TRUE(step_until([&] {
    carry(rank, between, &heard);
    carry(between, rank, nullptr);
    return state(0) == Seat::State::joined;
  }));
  EXPECT_EQ(heard.find(scheduler_->token()), std::string::npos);
  EXPECT_EQ(heard.find("localhost"), std::string::npos) << "what it said can be read";
  const Descriptor liar = knock();
  ASSERT_EQ(send(liar.get(), heard.data(), heard.size(), 0), static_cast<ssize_t>(heard.size()));
  EXPECT_TRUE(step_until([&] { return scheduler_->strangers_refused() == 1; }));
  EXPECT_THAT(failure(std::move(joining)), HasSubstr("rank 0"));
}

TEST_F(SchedulerTest, StrangersDoNotDisturb) {
  std::vector<Descriptor> silent;
  silent.reserve(800);
  for (int i = 0; i < 400; ++i) silent.push_back(knock());
  const Descriptor scanner = knock();
  const std::string request = "GET / HTTP/1.0\r\n\r\n";
  ASSERT_GT(send(scanner.get(), request.data(), request.size(), MSG_NOSIGNAL), 0);
  const Descriptor flood = knock();
  const std::string endless(100000, 'x');
  ASSERT_GT(send(flood.get(), endless.data(), endless.size(), MSG_NOSIGNAL), 0);
  const auto members = join_all();
  EXPECT_TRUE(scheduler_->all_joined());
  for (int i = 0; i < 400; ++i) silent.push_back(knock());
  members[0]->report("undisturbed");
  EXPECT_TRUE(step_until([&] { return scheduler_->seat(0).doing == "undisturbed"; }));
  EXPECT_GE(scheduler_->strangers_refused(), 400 + 2 + 400 - 128);
  // Those that are left go after their time.
  EXPECT_TRUE(step_until([&] { return scheduler_->strangers_refused() == 400 + 2 + 400; }));
  for (Rank rank = 0; rank < 3; ++rank) EXPECT_EQ(state(rank), Seat::State::joined);
}

TEST(Scheduler, RefusesAPortThatIsInUse) {
  const world::Listener taken("127.0.0.1");
  const std::vector<Host> hosts = {this_machine(1, 1)};
  try {
    const Scheduler scheduler("127.0.0.1", taken.port(), random_token(), place(1, 0, hosts), hosts);
    FAIL() << "was accepted";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("is in use"));
  }
}

TEST(Join, SaysThatNobodyListens) {
  JoinOptions options;
  options.invitation.scheduler_address = "127.0.0.1";
  {
    const world::Listener gone("127.0.0.1");
    options.invitation.scheduler_port = gone.port();
  }
  options.token = random_token();
  options.timeout = std::chrono::milliseconds(100);
  try {
    join(options);
    FAIL() << "has joined";
  } catch (const RunError& error) {
    EXPECT_THAT(error.what(), HasSubstr("refused"));
  }
}

}  // namespace
}  // namespace syrtos::launch
