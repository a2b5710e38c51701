#include "syrtos/base/config.h"

#include <cstdlib>
#include <string>

namespace syrtos {

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

constexpr const char* kSchedulerVariables[] = {"SLURM_JOB_ID",
                                               "SLURM_JOB_NODELIST",
                                               "SLURM_TASKS_PER_NODE",
                                               "SLURM_PROCID",
                                               "SLURM_NODEID",
                                               "SLURM_STEP_ID",
                                               "SLURM_STEP_NUM_TASKS",
                                               "SLURM_STEP_NODELIST",
                                               "SLURM_STEP_TASKS_PER_NODE",
                                               "SLURM_CPUS_PER_TASK",
                                               "TORCHELASTIC_RUN_ID",
                                               "PE_HOSTFILE",
                                               "JOB_ID",
                                               "PBS_NODEFILE",
                                               "PBS_JOBID",
                                               "LSB_MCPU_HOSTS",
                                               "LSB_JOBID",
                                               "RANK",
                                               "WORLD_SIZE",
                                               "LOCAL_WORLD_SIZE",
                                               "MASTER_ADDR",
                                               "MASTER_PORT",
                                               "JOB_COMPLETION_INDEX",
                                               "OMPI_COMM_WORLD_RANK",
                                               "OMPI_COMM_WORLD_SIZE",
                                               "OMPI_COMM_WORLD_LOCAL_SIZE",
                                               "OMPI_MCA_ess_base_jobid",
                                               "PMI_RANK",
                                               "PMI_SIZE",
                                               "MPI_LOCALNRANKS",
                                               "SYRTOS_TOKEN"};

}  // namespace

Environment read_environment() {
  Environment environment;
  const std::string cache_home = variable("XDG_CACHE_HOME");
  const std::string home = variable("HOME");
  if (!cache_home.empty()) {
    environment.cache_home = cache_home;
  } else if (!home.empty()) {
    environment.cache_home = std::filesystem::path(home) / ".cache";
  }
  if (!variable("OMPI_COMM_WORLD_SIZE").empty() || !variable("PMIX_RANK").empty()) {
    environment.mpi = "Open MPI";
  } else if (!variable("PMI_RANK").empty()) {
    environment.mpi = "MPICH";
  }
  environment.mpi_ranks = variable("OMPI_COMM_WORLD_SIZE");
  for (const char* name : {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    if (environment.mpi_ranks.empty()) environment.mpi_ranks = variable(name);
  }
  environment.package = variable("SYRTOS_PACKAGE");
  unsetenv("SYRTOS_PACKAGE");
  for (const char* name : kSchedulerVariables) {
    if (std::string value = variable(name); !value.empty()) environment.scheduler[name] = value;
  }
  environment.colour = variable("NO_COLOR").empty();
  return environment;
}

}  // namespace syrtos
