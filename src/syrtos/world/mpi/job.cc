#include <array>

#include "syrtos/base/error.h"
#include "syrtos/world/mpi/communicator.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::world {

namespace {

std::string host_name(const MpiLibrary& mpi) {
  std::array<char, 1024> name{};
  mpi.check(mpi->host_name(name.data(), static_cast<int>(name.size())), "MPI_Get_processor_name");
  return name.data();
}

}  // namespace

MpiJob::MpiJob(const std::string& preferred) : mpi_(std::make_unique<MpiLibrary>(preferred)) {
  SyrtosMpiHandle all = 0;
  int threads_allowed = 0;
  mpi_->check((*mpi_)->begin(&all, &threads_allowed), "MPI_Init_thread");
  all_ = std::make_unique<Communicator>(*mpi_, all);
  if (threads_allowed == 0) {
    fail_run(
        "this MPI allows calls from its first thread only: expected MPI_THREAD_SERIALIZED: use one "
        "that was built with threads");
  }
}

MpiJob::~MpiJob() {
  all_.reset();
  (*mpi_)->end();
}

Rank MpiJob::rank() const { return all_->rank(); }

int MpiJob::size() const { return all_->size(); }

std::vector<std::string> MpiJob::gather(const std::string& text) const {
  return all_->gather(text);
}

std::unique_ptr<MpiWorld> MpiJob::make_world(int ranks) {
  if (ranks == 0) ranks = size();
  SYRTOS_CHECK(ranks > 0 && ranks <= size(), "{} of {}", ranks, size());
  const bool member = rank() < ranks;
  SyrtosMpiHandle comm = 0;
  mpi_->check((*mpi_)->split(all_->get(), member ? 1 : 0, rank(), &comm), "MPI_Comm_split");
  if (!member) return nullptr;
  auto communicator = std::make_unique<Communicator>(*mpi_, comm);
  std::vector<std::string> hosts = communicator->gather(host_name(*mpi_));
  return std::unique_ptr<MpiWorld>(new MpiWorld(rank(), std::move(hosts), std::move(communicator)));
}

}  // namespace syrtos::world
