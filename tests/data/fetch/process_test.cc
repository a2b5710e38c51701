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

TEST_F(Process, OutputOfBothKindsComesBackAndArgumentsNeedNoQuotes) {
  const std::string output =
      run_command({.arguments = {"sh", "-c", "pwd; echo \"$1\" >&2", "sh", "a 'b' $c"},
                   .directory = directory_},
                  kNever);
  EXPECT_EQ(output, std::filesystem::canonical(directory_).string() + "\na 'b' $c\n");
}

TEST_F(Process, AFailureSaysTheExitCodeAndTheLastLines) {
  const std::string text = refusal<RunError>([] {
    run_command({.arguments = {"sh", "-c", "echo one; echo no such package; exit 7"}}, kNever);
  });
  EXPECT_THAT(text, HasSubstr("exit code 7"));
  EXPECT_THAT(text, HasSubstr("no such package"));
}

TEST_F(Process, AProgramThatIsNotThereIsNamed) {
  EXPECT_THAT(
      refusal<RunError>([] { run_command({.arguments = {"no-such-program-here"}}, kNever); }),
      HasSubstr("expected the program 'no-such-program-here'"));
}

TEST_F(Process, OnlyTheLastOutputIsKept) {
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
TEST_F(Process, TheDeadlineEndsTheProgramAndWhatItStarted) {
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

TEST_F(Process, AProgramThatPrintsWithoutPauseIsEndedToo) {
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

TEST_F(Process, TheProgramEndsWhenWeAreKilled) {
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

TEST_F(Process, ItStopsWhenAsked) {
  const auto started = [&] { return has_text(directory_ / "id"); };
  const std::string text = refusal<RunError>([&] {
    run_command(
        {.arguments = {"sh", "-c", "sleep 1000 & echo $! >id; wait"}, .directory = directory_},
        started);
  });
  EXPECT_THAT(text, HasSubstr("was stopped"));
  expect_gone(directory_ / "id");
}

TEST_F(Process, AProcessLeftBehindWithTheOutputDoesNotHoldUsUp) {
  run_command({.arguments = {"sh", "-c", "sleep 1000 & echo $! >id"}, .directory = directory_},
              kNever);
  expect_gone(directory_ / "id");
}

}  // namespace
}  // namespace syrtos::data
