#include "syrtos/strategy/meeting.h"

#include <gmock/gmock.h>

#include "syrtos/strategy/text.h"
#include "syrtos/world/sim/sim.h"
#include "syrtos/world/started.h"

namespace syrtos::strategy {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;
using world::Started;

constexpr double kDeadline = 10;
constexpr double kLimit = kMostDeadlines * kDeadline;

/// Three workers of whom the last one does something else first.
struct Meeting {
  std::vector<bool> present;
  std::vector<std::string> told;  // at rank 0
  double over = 0;
  std::vector<std::exception_ptr> errors;
};

Meeting meet(const std::function<Task<>(World&)>& first_of_last,
             const std::function<Task<>(World&)>& beside_of_first = {}) {
  Meeting meeting;
  world::SimCluster cluster(world::uniform_cluster(3, 1e9, 1e-4));
  meeting.errors = cluster.run([&](World& world) -> Task<> {
    world.set_deadline(kDeadline);
    Meetings meetings(world, {.workers = 3}, true);
    Started beside;
    if (world.rank() == 0) {
      world.tell_of_silence([&](const std::string& text) { meeting.told.push_back(text); });
      if (beside_of_first) beside = Started(world, beside_of_first(world));
    }
    if (world.rank() == 2) co_await first_of_last(world);
    co_await meetings.meet("", [](const std::vector<std::string>&) { return std::string("go"); });
    if (world.rank() != 0) co_return;
    meeting.over = world.now();
    meeting.present = meetings.present();
  });
  return meeting;
}

// It is connected and says that it lives, but its disk never answers.
TEST(Meetings, GoOnWithoutAWorkerThatNeverComes) {
  const Meeting found = meet([](World& world) -> Task<> { co_await world.compute(1e6, [] {}); });
  EXPECT_EQ(found.errors[0], nullptr);
  EXPECT_EQ(found.errors[1], nullptr);
  EXPECT_EQ(found.present, std::vector<bool>({true, true, false}));
  EXPECT_NEAR(found.over, kLimit, 1);
  EXPECT_THAT(found.told, SizeIs(static_cast<size_t>(kMostDeadlines) - 1));
  EXPECT_THAT(found.told, Each(HasSubstr("rank 2 on")));
}

TEST(Meetings, WaitForAWorkerThatIsOnlySlow) {
  const world::Tag news = {world::Purpose::news, 0, 0};
  const auto tell = [&](World& world) -> Task<> {
    for (int i = 0; i < 100; ++i) {
      co_await world.compute(kDeadline / 2, [] {});
      co_await send_text(world, 0, news, "still here");
    }
  };
  const auto listen = [&](World& world) -> Task<> {
    for (int i = 0; i < 100; ++i) {
      co_await receive_text(world, 2, news, {.silence = world::Patience::kForever});
    }
  };
  const Meeting found = meet(tell, listen);
  for (const std::exception_ptr& error : found.errors) EXPECT_EQ(error, nullptr);
  EXPECT_EQ(found.present, std::vector<bool>({true, true, true}));
  EXPECT_GT(found.over, 5 * kLimit);
  EXPECT_THAT(found.told, SizeIs(0));
}

}  // namespace
}  // namespace syrtos::strategy
