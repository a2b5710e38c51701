#include "syrtos/launch/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "syrtos/base/error.h"

namespace syrtos::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A name that has an address everywhere.
constexpr const char* kHost = "localhost";

TEST(Allocation, NodesAreExpandedAsSlurmWritesThem) {
  EXPECT_THAT(expand_nodes("n1"), ElementsAre("n1"));
  EXPECT_THAT(expand_nodes("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(expand_nodes("n[08-10,12],m"), ElementsAre("n08", "n09", "n10", "n12", "m"));
  EXPECT_THAT(expand_nodes("r[1-2]x,q"), ElementsAre("r1x", "r2x", "q"));
  EXPECT_THROW(expand_nodes("n[1-2"), RequestError);
}

TEST(Allocation, ThereIsNoneWithoutAScheduler) {
  EXPECT_FALSE(find_allocation({}));
  EXPECT_FALSE(find_started_rank({}));
}

TEST(Allocation, SlurmSaysHostsAndTasks) {
  const auto found = find_allocation(
      {{"SLURM_JOB_ID", "17"}, {"SLURM_JOB_NODELIST", kHost}, {"SLURM_TASKS_PER_NODE", "3"}});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->job, "17");
  ASSERT_EQ(found->hosts.size(), 1);
  EXPECT_EQ(found->hosts[0].slots, 3);
  const auto words = remote_script(found->shell, found->hosts[0], "echo a b");
  ASSERT_GT(words.size(), 4);
  EXPECT_EQ(words.front(), "srun");
  EXPECT_THAT(std::vector<std::string>(words.end() - 5, words.end()),
              ElementsAre("--nodelist", kHost, "sh", "-c", "echo a b"));
}

TEST(Allocation, TasksThatDoNotFitTheHostsAreRefused) {
  EXPECT_THROW(find_allocation({{"SLURM_JOB_NODELIST", kHost}, {"SLURM_TASKS_PER_NODE", "1(x2)"}}),
               RequestError);
}

TEST(Allocation, FilesOfPbsAndGridEngineAreRead) {
  const auto file = std::filesystem::temp_directory_path() / "syrtos_allocation_test";
  std::ofstream(file) << "localhost\nlocalhost\n127.0.0.1\n";
  const auto pbs = find_allocation({{"PBS_NODEFILE", file.string()}, {"PBS_JOBID", "5.head"}});
  ASSERT_TRUE(pbs);
  ASSERT_EQ(pbs->hosts.size(), 2);
  EXPECT_EQ(pbs->hosts[0].slots, 2);
  EXPECT_EQ(pbs->shell.command, "ssh");
  std::ofstream(file) << "localhost 4 all.q@localhost UNDEFINED\n127.0.0.1 1 all.q UNDEFINED\n";
  const auto grid = find_allocation({{"PE_HOSTFILE", file.string()}, {"JOB_ID", "5"}});
  ASSERT_TRUE(grid);
  ASSERT_EQ(grid->hosts.size(), 2);
  EXPECT_EQ(grid->hosts[0].slots, 4);
  EXPECT_EQ(grid->shell.command, "qrsh -inherit");
  std::filesystem::remove(file);
  EXPECT_THROW(find_allocation({{"PBS_NODEFILE", file.string()}}), RequestError);
}

TEST(Allocation, LsfSaysHostsAndSlots) {
  const auto found = find_allocation({{"LSB_MCPU_HOSTS", "localhost 2 127.0.0.1 4"}});
  ASSERT_TRUE(found);
  ASSERT_EQ(found->hosts.size(), 2);
  EXPECT_EQ(found->hosts[1].slots, 4);
  EXPECT_EQ(found->shell.command, "blaunch");
}

TEST(Allocation, AHostWithoutAddressIsNamed) {
  try {
    find_allocation({{"LSB_MCPU_HOSTS", "nobody.invalid 2"}});
    FAIL() << "it was accepted";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("nobody.invalid"));
  }
}

TEST(StartedRank, SrunSaysRankLeaderAndTasks) {
  const Variables step = {{"SLURM_JOB_ID", "10042"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_PROCID", "3"},
                          {"SLURM_STEP_NUM_TASKS", "5"},
                          {"SLURM_STEP_NODELIST", "n[2-4]"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x2),1"},
                          {"SLURM_NODEID", "1"},
                          {"SLURM_CPUS_PER_TASK", "4"}};
  const auto found = find_started_rank(step);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 3);
  EXPECT_EQ(found->ranks, 5);
  EXPECT_EQ(found->here, 2);
  EXPECT_EQ(found->cores, 4);
  EXPECT_EQ(found->leader, "n2");
  EXPECT_EQ(found->port, 20042);
  // The batch script's own process has the job's variables and no step.
  EXPECT_FALSE(find_started_rank({{"SLURM_JOB_ID", "10042"}, {"SLURM_PROCID", "0"}}));
}

TEST(StartedRank, TorchrunAndKubernetesSayTheSameInTheirWords) {
  const Variables torchrun = {
      {"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
  const auto first = find_started_rank(torchrun);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rank, 1);
  EXPECT_EQ(first->port, 29500);
  Variables kubernetes = torchrun;
  kubernetes.erase("RANK");
  kubernetes["JOB_COMPLETION_INDEX"] = "2";
  EXPECT_EQ(find_started_rank(kubernetes)->rank, 2);
  EXPECT_EQ(find_started_rank(kubernetes)->token, first->token);
  kubernetes["SYRTOS_TOKEN"] = "secret";
  EXPECT_EQ(find_started_rank(kubernetes)->token, "secret");
}

TEST(StartedRank, MpirunSaysItForProgramsWithoutMpi) {
  const Variables open = {{"OMPI_COMM_WORLD_RANK", "2"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                          {"OMPI_MCA_ess_base_jobid", "2342322177"}};
  EXPECT_FALSE(find_started_rank(open));
  const auto found = find_mpirun_rank(open);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 2);
  EXPECT_EQ(found->ranks, 4);
  EXPECT_EQ(found->here, 4);
  EXPECT_EQ(found->leader, "localhost");
  EXPECT_EQ(found->port, 22177);
  Variables another = open;
  another["OMPI_MCA_ess_base_jobid"] = "7";
  EXPECT_NE(find_mpirun_rank(another)->token, found->token);
  const auto mpich =
      find_mpirun_rank({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALNRANKS", "2"}});
  ASSERT_TRUE(mpich);
  EXPECT_EQ(mpich->rank, 1);
  Variables spread = open;
  spread["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_THROW(find_mpirun_rank(spread), RequestError);
  spread["MASTER_ADDR"] = "a";
  EXPECT_EQ(find_mpirun_rank(spread)->leader, "a");
  EXPECT_FALSE(find_mpirun_rank({}));
}

TEST(StartedRank, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_THROW(find_started_rank({{"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}}),
               RequestError);
  EXPECT_THROW(find_started_rank({{"RANK", "1"}, {"WORLD_SIZE", "4"}}), RequestError);
  EXPECT_THROW(find_started_rank({{"RANK", "one"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "a"}}),
               RequestError);
}

TEST(StartedRank, OneAloneIsNoTeam) {
  EXPECT_FALSE(find_started_rank({{"RANK", "0"}, {"WORLD_SIZE", "1"}}));
}

}  // namespace
}  // namespace syrtos::launch
