#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "syrtos/base/cpu.h"

namespace syrtos::api {

/// What a call knows of the machine and of whoever makes it. A program fills it once.
struct Surroundings {
  CpuInfo cpu = cpu_info();
  /// Data sets and what was measured once are kept below it; empty: nothing is kept.
  std::filesystem::path cache_home = {};
  /// Which MPI started this process (see world::MpiLibrary), for train_under_mpi(); empty: any.
  std::string mpi = {};
  std::string mpi_ranks = {};  ///< How many it has started; empty: it does not say.
  /// Asked between steps, from several threads; true: end in good order.
  std::function<bool()> should_stop = [] { return false; };
};

}  // namespace syrtos::api
