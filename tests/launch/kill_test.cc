// Processes that are killed at any moment, and what is left of the others then: nothing.

#include <gmock/gmock.h>
#include <csignal>

#include <random>

#include "syrtos/launch/process.h"
#include "tests/launch/launching.h"
#include "tests/support/temporary.h"

namespace syrtos::launch {
namespace {

using testing::HasSubstr;

constexpr int kRounds = 20;
constexpr int kWorkers = 3;

// A launcher in a process of its own.
class Launcher {
 public:
  explicit Launcher(const std::string& remote_shell)
      : process_({SYRTOS_RANK_PROGRAM, "launcher", std::to_string(kWorkers), remote_shell, "wait",
                  mark_}) {}

  bool wait_for_ranks(size_t count) {
    return eventually([&] {
      read();
      return ups().size() >= count;
    });
  }
  std::map<Rank, Up> ups() const { return ups_in(text_); }
  void kill(int signal) const { ::kill(process_.id(), signal); }
  Ending ending() { return process_.ended().value(); }
  const std::string& text() const { return text_; }

  // Waits until nothing is left, and says how long that took.
  double seconds_until_nothing_is_left() {
    const Clock::time_point start = Clock::now();
    EXPECT_TRUE(eventually([&] {
      read();
      return process_.ended() && processes_with(mark_).empty() && no_port_is_open(text_);
    })) << text_;
    const double seconds = seconds_since(start);
    read();
    return seconds;
  }

 private:
  void read() {
    std::array<char, 4096> block;
    for (const Descriptor* from : {&process_.output, &process_.error}) {
      const ssize_t got = ::read(from->get(), block.data(), block.size());
      if (got > 0) text_.append(block.data(), static_cast<size_t>(got));
    }
  }

  const std::string mark_ = unique_word();
  std::string text_;
  Process process_;
};

// Ranks that are the launcher's own processes, and ranks that only a connection ties to it: a
// remote shell that starts them in sessions of their own, as sshd does.
class Killed : public TemporaryDirectory, public testing::WithParamInterface<bool> {
 protected:
  std::string remote_shell() const {
    if (!GetParam()) return "";
    const auto agent = write("agent", "#!/bin/sh\nshift\nexec setsid -w sh -c \"$*\"\n");
    std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
    return agent.string();
  }
  static void report(const char* what, double longest) {
    RecordProperty("longest_seconds", std::to_string(longest));
    fmt::print("{} {} killed, nothing was left after at most {:.2f} s\n", kRounds, what, longest);
  }
};

// Some more time passes: up to about a millisecond.
void wait_for_a_moment(std::mt19937& random) {
  const Clock::time_point end = Clock::now() + std::chrono::microseconds(random() % 1000);
  while (Clock::now() < end) {
  }
}

TEST_P(Killed, TheLauncherLeavesNothingBehind) {
  double longest = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::mt19937 random(round);
    Launcher launcher(remote_shell());
    ASSERT_TRUE(launcher.wait_for_ranks(random() % (kWorkers + 1)));
    wait_for_a_moment(random);
    launcher.kill(SIGKILL);
    longest = std::max(longest, launcher.seconds_until_nothing_is_left());
    ASSERT_EQ(launcher.ending().signal, SIGKILL) << launcher.text();
  }
  report("launchers", longest);
}

TEST_P(Killed, ARankEndsTheRunWhichNamesIt) {
  double longest = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    SCOPED_TRACE(round);
    std::mt19937 random(round);
    Launcher launcher(remote_shell());
    ASSERT_TRUE(launcher.wait_for_ranks(kWorkers));
    wait_for_a_moment(random);
    const Rank victim = static_cast<Rank>(random() % kWorkers);
    const Up up = launcher.ups().at(victim);
    kill(up.process, SIGKILL);
    longest = std::max(longest, launcher.seconds_until_nothing_is_left());
    EXPECT_EQ(launcher.ending().code, 1);
    EXPECT_THAT(launcher.text(),
                HasSubstr(fmt::format("error: rank {} on localhost (worker, process "
                                      "{}) was ended by signal 9",
                                      victim, up.process)));
  }
  report("ranks", longest);
}

TEST_P(Killed, ALauncherThatIsTerminatedEndsInGoodOrder) {
  Launcher launcher(remote_shell());
  ASSERT_TRUE(launcher.wait_for_ranks(kWorkers));
  launcher.kill(SIGTERM);
  launcher.seconds_until_nothing_is_left();
  EXPECT_EQ(launcher.ending().code, 1);
  EXPECT_EQ(launcher.ending().signal, 0);
  EXPECT_THAT(launcher.text(), Not(HasSubstr("error")));
}

INSTANTIATE_TEST_SUITE_P(Ranks, Killed, testing::Bool(), [](const auto& info) {
  return info.param ? "of_other_hosts" : "of_this_machine";
});

}  // namespace
}  // namespace syrtos::launch
