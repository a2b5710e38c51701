#pragma once

#include <string>

#include "syrtos/world/mpi/calls.h"

namespace syrtos::world {

/// The MPI of this machine, loaded into this process for good: libmpi itself, and the plugin that
/// was compiled for its kind. Which kinds there are: "Open MPI" and "MPICH" (also Intel MPI and
/// MVAPICH, which have its binary interface).
class MpiLibrary {
 public:
  /// `preferred` is tried first; empty: whichever is there. Throws RequestError that says what was
  /// looked for when there is none.
  explicit MpiLibrary(const std::string& preferred);
  MpiLibrary(const MpiLibrary&) = delete;
  MpiLibrary& operator=(const MpiLibrary&) = delete;

  const SyrtosMpiCalls* operator->() const { return calls_; }

  /// Throws a RunError with MPI's words when a call failed.
  void check(int code, const char* call) const;

 private:
  const SyrtosMpiCalls* calls_ = nullptr;
};

}  // namespace syrtos::world
