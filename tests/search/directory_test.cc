// What a search has written down, and when it is on disk.
#include "syrtos/search/directory.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "tests/support/temporary.h"

namespace {
std::atomic<int> synced = 0;
}  // namespace

// In place of the C library's, for this program.
extern "C" int fsync(int descriptor) {
  ++synced;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

namespace syrtos::search {
namespace {

class SearchDirectory : public TemporaryDirectory {
 protected:
  std::filesystem::path path() const { return directory_ / "search"; }
  static Plan plan() { return parse_plan("[space]\nbatch = [8, 16]\n", "space.toml"); }
};

TEST_F(SearchDirectory, HasATrialOnDiskBeforeItsRun) {
  Directory directory = Directory::create(path(), plan());
  const int before = synced;
  directory.add({.kind = Event::Kind::trial, .point = {{"batch", "8"}}});
  EXPECT_EQ(synced, before + 1);
  directory.add({.kind = Event::Kind::epoch, .trial = 1, .epoch = 1});
  EXPECT_EQ(synced, before + 1) << "epochs can be told again";
}

TEST_F(SearchDirectory, KnowsWhatIsWrittenDownAndNoMore) {
  {
    Directory::create(path(), plan()).add({.kind = Event::Kind::trial, .point = {{"batch", "8"}}});
  }
  std::ofstream(path() / "trials.jsonl", std::ios::app)
      << to_line({.kind = Event::Kind::trial, .point = {{"batch", "16"}}});  // without its end
  const Directory directory = Directory::open_to_resume(path(), false);
  EXPECT_EQ(directory.ledger().trials().size(), Directory::open(path()).ledger().trials().size());
  EXPECT_EQ(directory.ledger().trials().size(), 1u);
}

}  // namespace
}  // namespace syrtos::search
