#include "syrtos/base/memory.h"

#include <gmock/gmock.h>

#include "tests/support/temporary.h"

namespace syrtos {
namespace {

class Groups : public TemporaryDirectory {
 protected:
  void put(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((directory_ / name).parent_path());
    write(name, text);
  }
  GroupMemory look(const std::string& groups) const {
    return group_memory(write("groups", groups), directory_ / "mounted");
  }
};

TEST_F(Groups, TheNarrowestCountsInTheSecondVersion) {
  put("mounted/a/b/memory.max", "max\n");
  put("mounted/a/b/memory.current", "100\n");
  put("mounted/a/memory.max", "1000\n");
  put("mounted/a/memory.current", "700\n");
  put("mounted/a/memory.stat", "anon 5\ninactive_file 50\nactive_file 7\n");
  put("mounted/a/memory.events", "low 0\noom 3\noom_kill 2\n");
  const GroupMemory memory = look("0::/a/b\n");
  EXPECT_EQ(memory.limit, 1000);
  EXPECT_EQ(memory.free, 350);
  EXPECT_EQ(memory.kills, 2);
}

TEST_F(Groups, TheFirstVersionIsReadToo) {
  put("mounted/memory/job/memory.limit_in_bytes", "5000\n");
  put("mounted/memory/job/memory.usage_in_bytes", "4500\n");
  put("mounted/memory/job/memory.stat", "total_inactive_file 100\n");
  put("mounted/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("mounted/memory/memory.usage_in_bytes", "1\n");
  const GroupMemory memory = look("9:name=systemd:/\n4:cpu,memory:/job\n0::/\n");
  EXPECT_EQ(memory.limit, 5000);
  EXPECT_EQ(memory.free, 600);
}

TEST_F(Groups, InsideAContainerTheTopIsIts) {
  put("mounted/memory.max", "1000\n");
  put("mounted/memory.current", "2000\n");
  EXPECT_EQ(look("0::/not/here\n").free, 0);
}

TEST_F(Groups, WithoutLimitsNothingIsSaid) {
  EXPECT_FALSE(look("0::/\n").limit.has_value());
  EXPECT_FALSE(group_memory(directory_ / "none", directory_ / "none").free.has_value());
  EXPECT_GT(free_memory(), 0);
  EXPECT_LE(free_memory(), memory_limit());
}

}  // namespace
}  // namespace syrtos
