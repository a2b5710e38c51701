#include "syrtos/launch/launch.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <csignal>

#include <regex>

#include "syrtos/base/error.h"
#include "tests/launch/launching.h"

namespace syrtos::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::StartsWith;

TEST_F(Launching, RanksLearnWhoIsWhereAndEndWell) {
  const LaunchEnd end = launch(2, 1, {"table"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.failure, "");
  EXPECT_FALSE(end.interrupted);
  for (const char* prefix : {"\n", "\n[rank 1 on localhost] ", "\n[rank 2 on localhost] "}) {
    EXPECT_THAT("\n" + output_,
                HasSubstr(fmt::format("{}worker localhost 127.0.0.1 true", prefix)));
    EXPECT_THAT("\n" + output_,
                HasSubstr(fmt::format("{}server localhost 127.0.0.1 true", prefix)));
  }
}

/// More than a pipe or a socket holds: the network of a file travels with it.
TEST_F(Launching, ALongTaskArrivesWhole) {
  std::string& task = options_.task;
  for (int i = 0; task.size() < 3'000'000; ++i) task += fmt::format("{} ", i);
  EXPECT_EQ(launch(2, 0, {"task"}).code, 0);
  const std::string line = fmt::format("task {} {}", task.size(), std::hash<std::string>()(task));
  EXPECT_THAT("\n" + output_, HasSubstr("\n" + line));
  EXPECT_THAT(output_, HasSubstr("[rank 1 on localhost] " + line));
}

TEST_F(Launching, TwoHundredRanksStartInTurns) {
  const LaunchEnd end = launch(200, 0, {"workers"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.failure, "");
  EXPECT_EQ(ups_in(output_).size(), 200U);
}

TEST_F(Launching, LinesOfRanksAreNeverMixed) {
  EXPECT_EQ(launch(4, 0, {"chatter"}).code, 0);
  std::istringstream lines(output_ + error_);
  const std::regex wanted(
      R"((\[rank (\d) on localhost\] )?(line (\d+) of (\d) x{90}|up .*|unfinished (\d)))");
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::smatch match;
    ASSERT_TRUE(std::regex_match(line, match, wanted)) << line;
    const std::string rank = match[2].matched ? match[2].str() : "0";
    EXPECT_TRUE(!match[5].matched || match[5].str() == rank) << line;
    EXPECT_TRUE(!match[6].matched || match[6].str() == rank) << line;
  }
  EXPECT_EQ(count, 4 * (300 + 2));
}

TEST_F(Launching, ARankThatFailsEndsAllAndIsNamed) {
  const LaunchEnd end = launch(3, 0, {"exit", "2", "7"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(
      end.failure,
      MatchesRegex("rank 2 on localhost \\(worker, process [0-9]+\\) ended with "
                   "exit code 7( before the training had begun)?; its last report: step 12"));
  EXPECT_THAT(output_, HasSubstr("ended: rank 2 on localhost"));
}

TEST_F(Launching, AWrongRequestFoundByARankStaysOne) {
  EXPECT_EQ(launch(2, 0, {"exit", "1", "2"}).code, 2);
}

TEST_F(Launching, AKilledRankEndsAllAndIsNamed) {
  bool killed = false;
  should_stop_ = [&] {
    if (all_up(4) && !std::exchange(killed, true)) kill(ups_in(output_)[1].process, SIGKILL);
    return false;
  };
  const LaunchEnd end = launch(3, 1, {"wait"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.failure, StartsWith(fmt::format("rank 1 on localhost (worker, process {}) was "
                                                  "ended by signal 9 (Killed)",
                                                  ups_in(output_)[1].process)));
}

TEST_F(Launching, TheRankThatOthersBlameIsNamed) {
  const LaunchEnd end = launch(3, 0, {"blame", "1"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.failure, StartsWith("rank 1 on localhost"));
  EXPECT_THAT(end.failure, HasSubstr("no longer reach"));
}

TEST_F(Launching, ARankThatDoesNotListenIsKilled) {
  bool killed = false;
  should_stop_ = [&] {
    if (all_up(3) && !std::exchange(killed, true)) kill(ups_in(output_)[2].process, SIGABRT);
    return false;
  };
  const Clock::time_point start = Clock::now();
  const LaunchEnd end = launch(3, 0, {"deaf"});
  EXPECT_THAT(end.failure, HasSubstr("rank 2 on localhost"));
  EXPECT_GE(seconds_since(start), 3) << "they get time to end by themselves";
}

TEST_F(Launching, AnInterruptAsksAllToEndInGoodOrder) {
  should_stop_ = [&] { return all_up(3); };
  const LaunchEnd end = launch(2, 1, {"wait"});
  EXPECT_EQ(end.code, 1) << "rank 0's";
  EXPECT_TRUE(end.interrupted);
  EXPECT_EQ(end.failure, "");
  EXPECT_THAT(output_, Not(HasSubstr("ended:"))) << "nobody was hurried";
}

TEST_F(Launching, AnInterruptHasADeadline) {
  options_.stop_timeout = std::chrono::milliseconds(200);
  // Stopped processes cannot do as they are told.
  bool frozen = false;
  should_stop_ = [&] {
    if (!all_up(2)) return false;
    if (!std::exchange(frozen, true)) kill(ups_in(output_)[1].process, SIGSTOP);
    return true;
  };
  const LaunchEnd end = launch(2, 0, {"wait"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.failure, StartsWith("rank 1 on localhost"));
  EXPECT_THAT(end.failure, HasSubstr("did not end within 0.2 s of being asked to"));
}

TEST_F(Launching, AnInterruptBeforeAllHaveJoinedEndsAll) {
  should_stop_ = [] { return true; };
  const LaunchEnd end = launch(2, 0, {"absent"});
  EXPECT_EQ(end.code, 1);
  EXPECT_TRUE(end.interrupted);
}

TEST_F(Launching, ARankThatDoesNotJoinIsNamed) {
  options_.join_timeout = std::chrono::milliseconds(500);
  const LaunchEnd end = launch(3, 0, {"absent"});
  EXPECT_EQ(end.code, 1);
  // One of this machine may take three times as long.
  EXPECT_THAT(end.failure, StartsWith("rank 1 on localhost did not join within 1.5 s"));
}

TEST_F(Launching, ARankThatEndsBeforeJoiningIsNamed) {
  const LaunchEnd end = launch(2, 0, {"early"});
  EXPECT_EQ(end.code, 1);
  EXPECT_THAT(end.failure, HasSubstr("rank 1 on localhost"));
  EXPECT_THAT(end.failure, HasSubstr("exit code 3 before all ranks had joined"));
}

TEST_F(Launching, ServersEndAfterTheWorkers) {
  const LaunchEnd end = launch(2, 2, {"workers"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.failure, "");
}

TEST_F(Launching, RunsThatMayGoOnWithoutAWorker) {
  options_.tolerate_lost_workers = true;
  bool killed = false;
  should_stop_ = [&] {
    if (all_up(3) && !std::exchange(killed, true)) kill(ups_in(output_)[1].process, SIGKILL);
    return error_.find("goes on without it") != std::string::npos;
  };
  const LaunchEnd end = launch(2, 1, {"until_stop"});
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.failure, "");
  EXPECT_THAT(end.lost, ElementsAre(1));
}

TEST_F(Launching, NoRunGoesOnWithoutAServerOrRank0) {
  options_.tolerate_lost_workers = true;
  for (const Rank lost : {0, 2}) {
    output_.clear();
    bool killed = false;
    should_stop_ = [&] {
      if (all_up(3) && !std::exchange(killed, true)) kill(ups_in(output_)[lost].process, SIGKILL);
      return false;
    };
    const LaunchEnd end = launch(2, 1, {"until_stop"});
    EXPECT_EQ(end.code, 1);
    EXPECT_THAT(end.failure, StartsWith(fmt::format("rank {} on localhost", lost)));
  }
}

TEST_F(Launching, TheTokenIsOnNoCommandLine) {
  std::string seen;
  should_stop_ = [&] {
    if (!all_up(2)) return false;
    for (const pid_t process : processes_with(mark_)) {
      std::ostringstream text;
      text << std::ifstream(fmt::format("/proc/{}/cmdline", process)).rdbuf();
      seen += text.str();
    }
    return true;
  };
  launch(2, 0, {"wait"});
  EXPECT_THAT(seen, HasSubstr("--join"));
  EXPECT_FALSE(std::regex_search(seen, std::regex("[0-9a-f]{64}")));
}

TEST_F(Launching, AProgramThatIsNotThereStartsNothing) {
  options_.hosts = {this_machine(1, 2)};
  options_.placements = place(2, 0, options_.hosts);
  options_.command = {"/nowhere/syrtos"};
  EXPECT_THROW(syrtos::launch::launch(options_), RunError);
}

}  // namespace
}  // namespace syrtos::launch
