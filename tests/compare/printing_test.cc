// Programs that print and print: they are waited for no longer than others, and fill neither the
// disk nor the memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "syrtos/base/clock.h"
#include "syrtos/compare/command.h"
#include "syrtos/compare/peer.h"
#include "tests/support/temporary.h"

namespace syrtos::compare {
namespace {

using testing::HasSubstr;

constexpr size_t kMost = size_t{100} << 20;  // bytes

class WhoPrintsWithoutEnd : public TemporaryDirectory {
 protected:
  void SetUp() override {
    TemporaryDirectory::SetUp();
    // Where this fails the disk must not be full: the signal ends the test.
    rlimit limit = {.rlim_cur = 4 * kMost, .rlim_max = 4 * kMost};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  const std::vector<std::string> command_ = {"sh", "-c", "yes >&2"};
};

TEST_F(WhoPrintsWithoutEnd, IsAPeerWithoutAnAnswer) {
  const std::filesystem::path log = directory_ / "log";
  const std::string text =
      refusal<PeerFailed>([&] { Peer("flood", command_, log, {.seconds = 2}); });
  EXPECT_THAT(text, HasSubstr("gave no answer to 'hello' within"));
  EXPECT_LT(std::filesystem::file_size(log), kMost);
}

TEST_F(WhoPrintsWithoutEnd, CanBeInterrupted) {
  const Clock::time_point start = Clock::now();
  const auto stop = [&] { return seconds_since(start) > 1; };
  const std::string text = refusal<PeerFailed>(
      [&] { Peer("flood", command_, directory_ / "log", {.seconds = 1e6, .should_stop = stop}); });
  EXPECT_THAT(text, HasSubstr("was interrupted"));
}

TEST_F(WhoPrintsWithoutEnd, IsACommandWhoseTimeIsOver) {
  const std::filesystem::path log = directory_ / "log";
  const Done done = run_command(command_, {.seconds = 2, .log = log});
  EXPECT_TRUE(done.timed_out);
  EXPECT_EQ(done.ending.code, 124);
  EXPECT_LT(std::filesystem::file_size(log), kMost);
  EXPECT_LT(done.error.size(), kMost);
  EXPECT_TRUE(done.error.ends_with("y\n") || done.error.ends_with("y"));
}

TEST(WhatACommandPrints, IsThereToTheLastByte) {
  const Done done = run_command({"sh", "-c", "seq 1 300000; seq 1 300000 >&2; echo end >&2"}, {});
  EXPECT_TRUE(done.ending.good());
  EXPECT_TRUE(done.output.ends_with("\n300000\n"));
  EXPECT_TRUE(done.output.starts_with("1\n2\n"));
  EXPECT_TRUE(done.error.ends_with("\n300000\nend\n"));
  EXPECT_EQ(done.output.size() + 4, done.error.size());
}

}  // namespace
}  // namespace syrtos::compare
