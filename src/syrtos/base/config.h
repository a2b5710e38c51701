#pragma once

#include <filesystem>
#include <map>
#include <string>

namespace syrtos {

/// What the environment says. It is read once, at the start of the program, and passed on: nothing
/// else looks at environment variables.
struct Environment {
  std::filesystem::path cache_home;  ///< $XDG_CACHE_HOME, else ~/.cache; empty: neither
  bool colour = true;                ///< NO_COLOR is not set
  /// "Open MPI" or "MPICH": its mpirun started this process, or srun in the way that it
  /// understands; empty: neither.
  std::string mpi;
  std::string mpi_ranks;  ///< how many it has started; empty: it does not say
  /// The package (docs/hosts.md) that this program was unpacked from; empty: it was not.
  std::filesystem::path package;
  /// What schedulers of clusters have set, by name (launch/allocation.h).
  std::map<std::string, std::string> scheduler;
};

/// Takes SYRTOS_PACKAGE out of the environment, since programs that this one starts are others. Not
/// while other threads run.
Environment read_environment();

}  // namespace syrtos
