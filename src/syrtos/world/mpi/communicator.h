#pragma once

#include <string>
#include <utility>
#include <vector>

#include "syrtos/world/mpi/library.h"
#include "syrtos/world/tag.h"

namespace syrtos::world {

/// Owns an MPI communicator; freeing it needs all of its ranks. The library must outlive it.
class Communicator {
 public:
  Communicator(const MpiLibrary& mpi, SyrtosMpiHandle comm) : mpi_(mpi), comm_(comm) {}
  ~Communicator() { mpi_->free_communicator(comm_); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  const MpiLibrary& mpi() const { return mpi_; }
  SyrtosMpiHandle get() const { return comm_; }
  Rank rank() const { return mpi_->rank(comm_); }
  int size() const { return mpi_->size(comm_); }
  std::vector<std::string> gather(const std::string& text) const;

 private:
  const MpiLibrary& mpi_;
  SyrtosMpiHandle comm_;
};

}  // namespace syrtos::world
