// Processes that are killed at any moment, and what is left of the others then: nothing.

#include <gmock/gmock.h>
#include <signal.h>

#include <random>

#include "syrtos/launch/process.h"
#include "tests/launch/launching.h"

namespace syrtos::launch {
namespace {

constexpr int kRounds = 20;
constexpr int kWorkers = 3;

// A launcher in a process of its own.
class Launcher {
 public:
  explicit Launcher(const std::string& mode)
      : process({SYRTOS_RANK_PROGRAM, "launcher", std::to_string(kWorkers), mode, mark_}) {}

  // Reads until so many ranks are up.
  bool wait_for_ranks(size_t count) {
    return eventually([&] {
      read();
      return ups_in(text_).size() >= count || process.ended();
    });
  }
  void read() {
    std::array<char, 4096> block;
    for (const Descriptor* from : {&process.output, &process.error}) {
      const ssize_t got = ::read(from->get(), block.data(), block.size());
      if (got > 0) text_.append(block.data(), static_cast<size_t>(got));
    }
  }
  std::map<Rank, Up> ups() const { return ups_in(text_); }
  // Waits until nothing is left, and says how long that took.
  double seconds_until_nothing_is_left() {
    const Clock::time_point start = Clock::now();
    EXPECT_TRUE(eventually([&] {
      read();
      return process.ended() && processes_with(mark_).empty();
    }));
    const double seconds = seconds_since(start);
    read();
    for (const auto& [rank, up] : ups()) {
      EXPECT_FALSE(port_is_open(up.port)) << "of rank " << rank;
      EXPECT_FALSE(port_is_open(up.scheduler_port)) << "of the scheduler";
    }
    return seconds;
  }

 private:
  const std::string mark_ = unique_word();
  std::string text_;

 public:
  Process process;
  const std::string& text() const { return text_; }
};

// A moment in a launch: so many ranks are up, and some more time passes.
void wait_for_a_moment(std::mt19937& random, Launcher& launcher) {
  launcher.wait_for_ranks(random() % (kWorkers + 1));
  for (auto turns = random() % 200000; turns > 0; --turns) [[maybe_unused]] volatile auto turn = turns;
}

TEST(Killed, the_launcher_leaves_nothing_behind) {
  double longest = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    Launcher launcher("wait");
    wait_for_a_moment(random, launcher);
    kill(launcher.process.id(), SIGKILL);
    longest = std::max(longest, launcher.seconds_until_nothing_is_left());
    ASSERT_EQ(launcher.process.ended()->signal, SIGKILL) << launcher.text();
  }
  RecordProperty("longest_seconds", std::to_string(longest));
  fmt::print("{} launchers killed, nothing left after at most {:.2f} s\n", kRounds, longest);
}

TEST(Killed, a_rank_ends_the_run_which_names_it) {
  double longest = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::mt19937 random(static_cast<unsigned>(round));
    Launcher launcher("wait");
    ASSERT_TRUE(launcher.wait_for_ranks(kWorkers));
    wait_for_a_moment(random, launcher);
    const Rank victim = static_cast<Rank>(random() % kWorkers);
    const Up up = launcher.ups().at(victim);
    kill(up.process, SIGKILL);
    longest = std::max(longest, launcher.seconds_until_nothing_is_left());
    EXPECT_EQ(launcher.process.ended()->code, 1);
    EXPECT_THAT(launcher.text(),
                testing::HasSubstr(fmt::format("error: rank {} on localhost (worker, process {}) was "
                                               "ended by signal 9",
                                               victim, up.process)));
  }
  RecordProperty("longest_seconds", std::to_string(longest));
  fmt::print("{} ranks killed, nothing left after at most {:.2f} s\n", kRounds, longest);
}

TEST(Killed, ranks_end_by_themselves_when_no_signal_tells_them) {
  // As on other hosts: only the connection and standard input say that the launcher is gone.
  const std::string mark = unique_word();
  LaunchOptions options;
  options.hosts = {this_machine(2, 1)};
  for (const std::string mode : {"wait", "busy"}) {
    Process agent({"setsid", "-w", SYRTOS_RANK_PROGRAM, "launcher", "2", mode, mark, "detached"});
    std::string text;
    ASSERT_TRUE(eventually([&] {
      std::array<char, 4096> block;
      const ssize_t got = read(agent.output.get(), block.data(), block.size());
      if (got > 0) text.append(block.data(), static_cast<size_t>(got));
      return ups_in(text).size() == 2;
    }));
  }
}

TEST(Killed, the_launcher_that_is_terminated_ends_in_good_order) {
  Launcher launcher("wait");
  ASSERT_TRUE(launcher.wait_for_ranks(kWorkers));
  kill(launcher.process.id(), SIGTERM);
  launcher.seconds_until_nothing_is_left();
  EXPECT_EQ(launcher.process.ended()->code, 1);
  EXPECT_EQ(launcher.process.ended()->signal, 0);
  EXPECT_THAT(launcher.text(), testing::Not(testing::HasSubstr("error")));
}

}  // namespace
}  // namespace syrtos::launch
