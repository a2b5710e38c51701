#include "syrtos/trace/thread_use.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace syrtos::trace {

namespace fs = std::filesystem;

namespace {

/// A process directory as /proc has it; gone at the end.
class MadeProcess {
 public:
  MadeProcess() {
    std::string name = (fs::temp_directory_path() / "syrtos-proc-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~MadeProcess() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  MadeProcess(const MadeProcess&) = delete;
  MadeProcess& operator=(const MadeProcess&) = delete;

  /// `policy`: field 41 of a thread's stat, 0 for usual threads and 5 for idle ones.
  void add(int thread, int policy, const std::string& schedstat) const {
    const fs::path task = path / "task" / std::to_string(thread);
    fs::create_directories(task);
    std::ofstream stat(task / "stat");
    stat << thread << " (a name) with spaces) S";
    for (int field = 4; field <= 40; ++field) stat << " " << 0;
    stat << " " << policy << " 0 0\n";
    std::ofstream(task / "schedstat") << schedstat << "\n";
  }

  fs::path path;
};

TEST(ThreadUse, IsTheSumOfTheThreadsButThoseThatStandInLineByIntent) {
  const MadeProcess made;
  made.add(1, 0, "2000000000 500000000 12");
  made.add(2, 0, "1000000000 250000000 3");
  made.add(3, 5, "700000000 9000000000 4");
  const ThreadUse use = read_thread_use(made.path);
  EXPECT_DOUBLE_EQ(use.cpu_s, 3);
  EXPECT_DOUBLE_EQ(use.ready_s, 0.75);
}

TEST(ThreadUse, OfAProcessThatIsGoneIsNothing) {
  const ThreadUse use = read_thread_use("/proc/nobody");
  EXPECT_EQ(use.cpu_s, 0);
  EXPECT_EQ(use.ready_s, 0);
}

TEST(ThreadUse, GrowsWithWhatThisProcessComputes) {
  const double before = read_thread_use().cpu_s;
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
    }
  });
  while (read_thread_use().cpu_s < before + 0.02) std::this_thread::yield();
  stop = true;
  busy.join();
}

TEST(MachineName, IsTheSameEachTime) { EXPECT_EQ(machine_name(), machine_name()); }

}  // namespace

}  // namespace syrtos::trace
