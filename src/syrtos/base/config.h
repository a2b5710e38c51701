#pragma once

#include <filesystem>

namespace syrtos {

/// What the environment says. It is read once, at the start of the program, and passed on: nothing
/// else looks at environment variables.
struct Environment {
  std::filesystem::path cache_home;  ///< $XDG_CACHE_HOME, else ~/.cache; empty: neither
  bool colour = true;                ///< NO_COLOR is not set
  bool mpi_job = false;              ///< mpirun or srun started this process
};

Environment read_environment();

}  // namespace syrtos
