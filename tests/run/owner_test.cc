#include "syrtos/run/owner.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "syrtos/base/error.h"
#include "syrtos/run/directory.h"
#include "syrtos/run/metrics.h"
#include "syrtos/run/progress.h"
#include "tests/support/temporary.h"

namespace syrtos::run {
namespace {

using testing::HasSubstr;

class Owners : public TemporaryDirectory {
 protected:
  /// owner.json as a process has left it.
  void leave(const ProcessName& name, const std::string& token = "left") {
    write("owner.json",
          fmt::format(R"({{"host":"{}","machine":"{}","boot":"{}","pid_namespace":"{}",)"
                      R"("process":{},"started":{},"token":"{}","since":1000}})",
                      name.host, name.machine, name.boot, name.pid_namespace, name.process,
                      name.started, token));
  }
  size_t files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory_), {}));
  }
};

TEST_F(Owners, AreAloneAndLeaveNothing) {
  {
    const Owner owner(directory_, {});
    EXPECT_TRUE(owner.still());
    EXPECT_EQ(read_owner(directory_)->name, this_process());
    EXPECT_THAT(refusal([&] { Owner(directory_, {}); }),
                HasSubstr(fmt::format("is being trained by process {} on ", getpid())));
    EXPECT_TRUE(owner.still());
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(Owners, OfWhichOneWasKilledAreTakenOver) {
  const pid_t child = fork();
  if (child == 0) {
    const auto owner = new Owner(directory_, {});  // never given back
    _exit(owner->still() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(read_owner(directory_)->name.process, child);
  const Owner owner(directory_, {});
  EXPECT_TRUE(owner.still());
}

TEST_F(Owners, WhoseNumberIsUsedAgainAreTakenOver) {
  ProcessName name = this_process();
  name.started -= 1;
  leave(name);
  EXPECT_NO_THROW(Owner(directory_, {}));
}

TEST_F(Owners, BeforeTheMachineWasStartedAgainAreTakenOver) {
  ProcessName name = this_process();
  if (name.machine.empty()) GTEST_SKIP() << "this machine has no name";
  name.boot = "another";
  leave(name);
  EXPECT_NO_THROW(Owner(directory_, {}));
}

TEST_F(Owners, ThatCannotBeSeenAreOnlyTakenOverByForce) {
  ProcessName elsewhere = this_process();
  elsewhere.host = "node7";
  elsewhere.boot = elsewhere.machine = "another";
  ProcessName contained = this_process();
  contained.pid_namespace = "pid:[7]";
  for (const ProcessName& name : {elsewhere, contained}) {
    leave(name);
    EXPECT_THAT(refusal([&] { Owner(directory_, {}); }), HasSubstr("cannot be seen from here"));
    EXPECT_THAT(refusal([&] { Owner(directory_, {}); }), HasSubstr("--force"));
    EXPECT_NO_THROW(Owner(directory_, {.force = true}));
  }
  write("owner.json", "");
  EXPECT_THAT(refusal([&] { Owner(directory_, {}); }), HasSubstr("somebody who cannot be read"));
}

TEST_F(Owners, OfManyThatComeAtOnceAreOne) {
  for (int round = 0; round < 20; ++round) {
    ProcessName gone = this_process();
    gone.started -= 1;
    if (round % 2 == 1) leave(gone);
    std::atomic<int> owners = 0, refused = 0, most = 0;
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i) {
      all.emplace_back([&] {
        try {
          const Owner owner(directory_, {});
          if (owner.still()) most = std::max<int>(most, ++owners);
          std::this_thread::yield();
          if (!owner.still()) ++refused;
          --owners;
        } catch (const Error&) {
          ++refused;
        }
      });
    }
    for (std::thread& one : all) one.join();
    EXPECT_LE(most, 1);
    EXPECT_FALSE(read_owner(directory_).has_value());
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(Owners, ThatWereReplacedWriteNothingMore) {
  Directory old = Directory::create(directory_ / "run", "mlp", "batch = 3\n");
  append(old, EpochMetrics{.epoch = 1});
  Directory next = Directory::open_to_resume(directory_ / "run");
  next.own({.force = true});
  write("run/last.ckpt", "new");
  const std::string before = read(old.file(File::metrics));
  EXPECT_THAT(refusal<RunError>([&] { append(old, EpochMetrics{.epoch = 2}); }),
              HasSubstr(fmt::format("was taken over by process {}", getpid())));
  EXPECT_THROW(rewind_metrics(old, 0), RunError);
  EXPECT_THROW(old.keep_as_best(), RunError);
  EXPECT_THROW(old.record_job("batch = 4\n"), RunError);
  replace(old, Progress{.state = State::failed});
  EXPECT_FALSE(old.has(File::progress));
  EXPECT_FALSE(old.has(File::best_checkpoint));
  EXPECT_EQ(read(old.file(File::metrics)), before);
  append(next, EpochMetrics{.epoch = 2});
  EXPECT_NE(read(old.file(File::metrics)), before);
  old = Directory::at(directory_ / "run");
  EXPECT_TRUE(next.is_writable()) << "one that was replaced takes nothing away";
}

TEST_F(Owners, AreReplacedByTheirHeirsButOthersAreNot) {
  const Owner first(directory_, {.token = "run7"});
  const Owner second(directory_, {.token = "run7-2", .heir_of = "run7"});
  EXPECT_FALSE(first.still());
  EXPECT_TRUE(second.still());
  const Owner other(directory_, {.token = "run8", .force = true});
  EXPECT_THROW(Owner(directory_, {.token = "run7-3", .heir_of = "run7"}), TakenOver);
  EXPECT_TRUE(other.still());
  ProcessName gone = this_process();
  gone.started -= 1;
  leave(gone, "run8-2");
  EXPECT_THROW(Owner(directory_, {.token = "run7-3", .heir_of = "run7"}), TakenOver)
      << "what it wrote is there";
}

TEST_F(Owners, ThatCannotBeReadNowAreNotTakenForReplaced) {
  Directory run = Directory::create(directory_ / "run", "mlp", "batch = 3\n");
  const auto write_epoch = [&] { append(run, EpochMetrics{.epoch = 1}); };
  // The share is gone, and comes back.
  std::filesystem::rename(directory_ / "run", directory_ / "away");
  EXPECT_FALSE(run.is_writable());
  EXPECT_THAT(refusal<RunError>(write_epoch), HasSubstr("cannot read"));
  EXPECT_THROW(write_epoch(), RunError);
  try {
    write_epoch();
  } catch (const TakenOver& error) {
    ADD_FAILURE() << error.what();
  } catch (const RunError&) {
  }
  std::filesystem::rename(directory_ / "away", directory_ / "run");
  EXPECT_NO_THROW(write_epoch());
  // What is no file says nothing of owners, and does not end whoever asks.
  std::filesystem::rename(directory_ / "run" / "owner.json", directory_ / "record");
  std::filesystem::create_directory(directory_ / "run" / "owner.json");
  EXPECT_FALSE(run.is_writable());
  EXPECT_THAT(refusal<RunError>(write_epoch), HasSubstr("cannot read"));
  std::filesystem::remove(directory_ / "run" / "owner.json");
  EXPECT_THROW(write_epoch(), TakenOver);
  std::filesystem::rename(directory_ / "record", directory_ / "run" / "owner.json");
  EXPECT_NO_THROW(write_epoch());
}

TEST_F(Owners, AreClearedAwayByWhoStartedThemAndNobodyElse) {
  leave(this_process(), "mine");
  EXPECT_FALSE(is_free_after(directory_, "other"));
  EXPECT_TRUE(is_free_after(directory_, "mine"));
  EXPECT_TRUE(is_free_after(directory_, "mine"));
  EXPECT_EQ(files(), 0U);
  // Whose it is cannot be read now.
  std::filesystem::create_directory(directory_ / "owner.json");
  EXPECT_FALSE(is_free_after(directory_, "mine"));
}

}  // namespace
}  // namespace syrtos::run
