#include "syrtos/data/fetch/process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/support/temporary.h"

namespace syrtos::data {
namespace {

using testing::HasSubstr;
using Process = TemporaryDirectory;

const auto kNever = [] { return false; };

TEST_F(Process, output_of_both_kinds_comes_back_and_arguments_need_no_quotes) {
  const std::string output =
      run_command({.arguments = {"sh", "-c", "pwd; echo \"$1\" >&2", "sh", "a 'b' $c"},
                   .directory = directory_},
                  kNever);
  EXPECT_EQ(output, std::filesystem::canonical(directory_).string() + "\na 'b' $c\n");
}

TEST_F(Process, a_failure_says_the_exit_code_and_the_last_lines) {
  const std::string text = refusal<RunError>([] {
    run_command({.arguments = {"sh", "-c", "echo one; echo no such package; exit 7"}}, kNever);
  });
  EXPECT_THAT(text, HasSubstr("exit code 7"));
  EXPECT_THAT(text, HasSubstr("no such package"));
}

TEST_F(Process, a_program_that_is_not_there_is_named) {
  EXPECT_THAT(
      refusal<RunError>([] { run_command({.arguments = {"no-such-program-here"}}, kNever); }),
      HasSubstr("expected the program 'no-such-program-here'"));
}

TEST_F(Process, only_the_last_output_is_kept) {
  const std::string output = run_command(
      {.arguments = {"sh", "-c", "head -c 1000000 /dev/zero; echo end"}, .most_output = 100},
      kNever);
  EXPECT_EQ(output.size(), 100U);
  EXPECT_TRUE(output.ends_with("end\n"));
}

// The shell's child writes its number and waits. Waits until it is gone; the test's own time limit
// is what ends a wait in vain. A zombie is gone: who takes its last word is not ours to say.
void expect_gone(const std::filesystem::path& file) {
  pid_t id = 0;
  std::ifstream(file) >> id;
  ASSERT_GT(id, 0);
  for (;;) {
    std::string line;
    std::getline(std::ifstream(fmt::format("/proc/{}/stat", id)), line);
    if (line.empty() || line.find(") Z") != std::string::npos) return;
    std::this_thread::yield();
  }
}

bool has_text(const std::filesystem::path& file) {
  std::error_code none;
  const auto size = std::filesystem::file_size(file, none);
  return !none && size > 0;
}

// Longer and longer, until the program came as far as to write the number.
TEST_F(Process, the_deadline_ends_the_program_and_what_it_started) {
  for (std::chrono::milliseconds deadline(50); !has_text(directory_ / "id"); deadline *= 2) {
    const std::string text = refusal<RunError>([&] {
      run_command({.arguments = {"sh", "-c", "sleep 1000 & echo $! >id; wait"},
                   .directory = directory_,
                   .deadline = deadline},
                  kNever);
    });
    EXPECT_THAT(text, HasSubstr("did not end within"));
  }
  expect_gone(directory_ / "id");
}

TEST_F(Process, a_program_that_prints_without_pause_is_ended_too) {
  int asked = 0;
  EXPECT_THAT(refusal<RunError>(
                  [&] { run_command({.arguments = {"yes"}}, [&] { return ++asked > 100; }); }),
              HasSubstr("was stopped"));
  EXPECT_THAT(refusal<RunError>([&] {
                run_command({.arguments = {"yes"}, .deadline = std::chrono::milliseconds(50)},
                            kNever);
              }),
              HasSubstr("did not end within"));
}

TEST_F(Process, the_program_ends_when_we_are_killed) {
  const pid_t id = fork();
  if (id == 0) {
    run_command(
        {.arguments = {"sh", "-c", "echo $$ >id; exec sleep 1000"}, .directory = directory_},
        kNever);
    _exit(0);
  }
  while (!has_text(directory_ / "id")) std::this_thread::yield();
  kill(id, SIGKILL);
  waitpid(id, nullptr, 0);
  expect_gone(directory_ / "id");
}

TEST_F(Process, it_stops_when_asked) {
  const auto started = [&] { return has_text(directory_ / "id"); };
  const std::string text = refusal<RunError>([&] {
    run_command(
        {.arguments = {"sh", "-c", "sleep 1000 & echo $! >id; wait"}, .directory = directory_},
        started);
  });
  EXPECT_THAT(text, HasSubstr("was stopped"));
  expect_gone(directory_ / "id");
}

TEST_F(Process, a_process_left_behind_with_the_output_does_not_hold_us_up) {
  run_command({.arguments = {"sh", "-c", "sleep 1000 & echo $! >id"}, .directory = directory_},
              kNever);
  expect_gone(directory_ / "id");
}

}  // namespace
}  // namespace syrtos::data
