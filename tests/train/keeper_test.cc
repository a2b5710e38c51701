#include "syrtos/train/checkpoint/keeper.h"

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/train/small_job.h"

namespace syrtos::train {
namespace {

/// Runs on a disk of three megabytes.
class SmallDisk : public SmallJobs {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(disk_);
    if (mount("none", disk_.c_str(), "tmpfs", 0, "size=3m") != 0) {
      GTEST_SKIP() << "only root can mount a small file system";
    }
    mounted_ = true;
  }
  ~SmallDisk() override {
    if (mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }

  const std::filesystem::path disk_ = directory_ / "disk";
  bool mounted_ = false;
};

TEST_F(SmallDisk, WithoutRoomForWhatOthersHaveKeepsTheCheckpointBefore) {
  WorkerState state(resolve(small_job("disk/run"), cpu_info(), "nowhere"), 0, {}, nullptr);
  state.directory = run::Directory::create(disk_ / "run", "lenet5", "batch = 16\n");
  Notebook notebook;
  Keeper keeper(state, notebook);
  keeper.keep_position(true);
  keeper.keep_position(true);
  ASSERT_TRUE(std::filesystem::exists(state.directory->previous()));
  state.others.begin(disk_ / "run");
  const Tensor large({DType::f32, Shape{1'000'000}});
  state.others.add({"parameters/large", large.shape()}, large);
  keeper.keep_position(false);
  EXPECT_EQ(notebook.take_complaints().size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(state.directory->previous()));
  // What is missing with the next checkpoint is no matter any more.
  state.others.begin(disk_ / "run");
  keeper.keep_position(true);
  EXPECT_EQ(notebook.take_complaints().size(), 1U);
}

}  // namespace
}  // namespace syrtos::train
