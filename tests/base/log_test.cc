#include "syrtos/base/log.h"

#include <gmock/gmock.h>

#include <thread>
#include <vector>

namespace syrtos {
namespace {

using testing::HasSubstr;
using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

std::string logged(LogLevel level) {
  CaptureStderr();
  const LogScope scope(level);
  log_info("{} of {}", "one", 2);
  log_trace("again {}", 3);
  return GetCapturedStderr();
}

TEST(Log, IsQuietWithoutAScopeAndAfterIt) {
  CaptureStderr();
  log_info("nobody reads this");
  { const LogScope scope(LogLevel::info); }
  log_info("nor this");
  EXPECT_EQ(GetCapturedStderr(), "");
  EXPECT_EQ(logged(LogLevel::quiet), "");
}

TEST(Log, ShowsWhatItsLevelSays) {
  EXPECT_THAT(logged(LogLevel::info), HasSubstr(" info: one of 2\n"));
  EXPECT_THAT(logged(LogLevel::info), testing::Not(HasSubstr("again")));
  EXPECT_THAT(logged(LogLevel::trace), HasSubstr(" info: one of 2\n"));
  EXPECT_THAT(logged(LogLevel::trace), HasSubstr(" trace: again 3\n"));
}

TEST(Log, SaysWhenAndWhere) {
  name_log(3, "100%node");
  EXPECT_THAT(logged(LogLevel::info),
              testing::MatchesRegex("[0-9-]+ [0-9:.]+ 100%node rank 3 info: one of 2\n"));
}

TEST(Log, KeepsLinesOfSeveralThreadsApart) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  CaptureStderr();
  {
    const LogScope scope(LogLevel::info);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < kLines; ++i) log_info("thread {} line {}.", t, i);
      });
    }
  }
  std::istringstream lines(GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_THAT(line, testing::MatchesRegex(".* info: thread [0-9]+ line [0-9]+\\."));
  }
  EXPECT_EQ(count, kThreads * kLines);
}

}  // namespace
}  // namespace syrtos
