#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "syrtos/world/tag.h"

namespace syrtos::world {

/// Throws a RunError with MPI's words when a call failed.
void check_mpi(int code, const char* call);

/// Owns an MPI communicator; freeing it needs all of its ranks.
class Communicator {
 public:
  explicit Communicator(MPI_Comm comm);
  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  MPI_Comm get() const { return comm_; }
  Rank rank() const;
  int size() const;
  std::vector<std::string> gather(const std::string& text) const;

 private:
  MPI_Comm comm_;
};

}  // namespace syrtos::world
