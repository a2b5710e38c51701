#include <array>

#include "syrtos/base/error.h"
#include "syrtos/world/mpi/communicator.h"
#include "syrtos/world/mpi/mpi_world.h"

namespace syrtos::world {

namespace {

std::string host_name() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  return {name.data(), static_cast<size_t>(length)};
}

}  // namespace

MpiJob::MpiJob() {
  int initialised = 0;
  MPI_Initialized(&initialised);
  SYRTOS_CHECK(initialised == 0, "one MpiJob per process");
  int provided = 0;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  MPI_Comm all = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup");
  all_ = std::make_unique<Communicator>(all);
  if (provided < MPI_THREAD_SERIALIZED) {
    fail_run(
        "this MPI allows calls from its first thread only: expected MPI_THREAD_SERIALIZED ({}), "
        "found {}: use one that was built with threads",
        MPI_THREAD_SERIALIZED, provided);
  }
}

MpiJob::~MpiJob() {
  all_.reset();
  MPI_Finalize();
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
  MPI_Comm comm = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(all_->get(), member ? 0 : MPI_UNDEFINED, rank(), &comm),
            "MPI_Comm_split");
  if (!member) return nullptr;
  auto communicator = std::make_unique<Communicator>(comm);
  std::vector<std::string> hosts = communicator->gather(host_name());
  return std::unique_ptr<MpiWorld>(new MpiWorld(rank(), std::move(hosts), std::move(communicator)));
}

}  // namespace syrtos::world
