#include "syrtos/base/scribe.h"

#include <gmock/gmock.h>

#include <future>
#include <vector>

namespace syrtos {
namespace {

using testing::ElementsAre;

TEST(Scribe, DoesAllInOrderBeforeItEnds) {
  std::vector<int> done;
  {
    Scribe scribe;
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(scribe.post([&, i] { done.push_back(i); }));
  }
  ASSERT_EQ(done.size(), 100U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
}

class FullScribe : public testing::TestWithParam<Scribe::LeavesOut> {};
INSTANTIATE_TEST_SUITE_P(LeavesOut, FullScribe,
                         testing::Values(Scribe::LeavesOut::newest, Scribe::LeavesOut::oldest));

TEST_P(FullScribe, NeverMakesItsCallerWaitAndHoldsOnlySoMuch) {
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();
  std::promise<void> began;
  std::vector<int> done;
  Scribe scribe(3, GetParam());
  scribe.post([&] {
    began.set_value();
    open.wait();  // as a pipe that nobody reads
  });
  began.get_future().wait();
  std::vector<bool> taken;
  for (int i = 0; i < 5; ++i) taken.push_back(scribe.post([&, i] { done.push_back(i); }));
  EXPECT_THAT(taken, ElementsAre(true, true, true, false, false));
  opened.set_value();
  scribe.drain();
  if (GetParam() == Scribe::LeavesOut::newest) {
    EXPECT_THAT(done, ElementsAre(0, 1, 2));
  } else {
    EXPECT_THAT(done, ElementsAre(2, 3, 4));
  }
  EXPECT_TRUE(scribe.post([] {}));
}

TEST(Scribe, KeepsOnlyTheNewestOfAKind) {
  std::promise<void> opened;
  std::shared_future<void> open = opened.get_future().share();
  std::vector<int> done;
  Scribe scribe;
  scribe.post([&] { open.wait(); });
  for (int i = 0; i < 10; ++i) {
    scribe.post_newest(0, [&, i] { done.push_back(i); });
    scribe.post_newest(1, [&, i] { done.push_back(100 + i); });
  }
  scribe.post([&] { done.push_back(-1); });
  opened.set_value();
  scribe.drain();
  EXPECT_THAT(done, ElementsAre(9, 109, -1));
}

}  // namespace
}  // namespace syrtos
