#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "syrtos/launch/hosts.h"
#include "syrtos/launch/remote.h"

// What schedulers of clusters say to the processes that they start, in environment variables.

namespace syrtos::launch {

using Variables = std::map<std::string, std::string>;

/// Hosts that a scheduler has given to a job, one process of which is this one: the launcher.
struct Allocation {
  std::string scheduler;  ///< "Slurm"
  std::string job = {};   ///< its number there
  std::vector<Host> hosts = {};
  RemoteShell shell = {};  ///< by which its hosts are reached
};

/// Slurm (sbatch, salloc), PBS (also Torque, OpenPBS), LSF and Grid Engine, by their documented
/// variables and files. None: no job, or one of this machine alone. Addresses are looked up, which
/// may block for some seconds. Throws RequestError when what they say does not fit together.
std::optional<Allocation> find_allocation(const Variables& variables);

/// This process as one of several that something else has started, one for each rank.
struct StartedRank {
  std::string by = {};  ///< "srun"
  int rank = 0;
  int ranks = 1;
  int here = 1;              ///< of them on this machine
  int cores = 0;             ///< for this one; 0: those of the machine, divided
  std::string leader = {};   ///< host of rank 0
  int port = 0;              ///< where rank 0 waits for the others
  std::string token = {};    ///< that all of them know
  bool secret = false;       ///< and nobody else: it is SYRTOS_TOKEN
  bool on_one_host = false;  ///< for certain: then nothing of them can be reached from elsewhere

  /// What people should know where whoever reaches rank 0 can join; empty: nothing.
  std::string note() const;
};

/// srun (without MPI), torchrun's RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, and Kubernetes'
/// JOB_COMPLETION_INDEX in place of RANK. None: this process is alone. SYRTOS_TOKEN is the token;
/// without it everybody who reaches the port and knows the number of the job can join. Throws
/// RequestError when what they say does not fit together.
std::optional<StartedRank> find_started_rank(const Variables& variables);

/// mpirun of Open MPI and MPICH, for programs that do not use MPI themselves: MASTER_ADDR is the
/// host of rank 0 where ranks are on several hosts, MASTER_PORT a port of it, which otherwise
/// follows from the number of the job. None: this process is alone. Throws RequestError.
std::optional<StartedRank> find_mpirun_rank(const Variables& variables);

/// "n[01-03,7],m" as Slurm writes it.
std::vector<std::string> expand_nodes(const std::string& text);

}  // namespace syrtos::launch
