#include "syrtos/world/mpi/communicator.h"

#include <array>

#include "syrtos/base/error.h"

namespace syrtos::world {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  fail_run("MPI failed in {}: {}", call, text.data());
}

Communicator::Communicator(MPI_Comm comm) : comm_(comm) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
}

Communicator::~Communicator() { MPI_Comm_free(&comm_); }

Rank Communicator::rank() const {
  int rank = 0;
  MPI_Comm_rank(comm_, &rank);
  return rank;
}

int Communicator::size() const {
  int size = 0;
  MPI_Comm_size(comm_, &size);
  return size;
}

std::vector<std::string> Communicator::gather(const std::string& text) const {
  const auto ranks = static_cast<size_t>(size());
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(ranks);
  check_mpi(MPI_Allgather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, comm_), "MPI_Allgather");
  std::vector<int> offsets(ranks);
  int total = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    offsets[rank] = total;
    total += lengths[rank];
  }
  std::string all(static_cast<size_t>(total), '\0');
  check_mpi(MPI_Allgatherv(text.data(), length, MPI_CHAR, all.data(), lengths.data(),
                           offsets.data(), MPI_CHAR, comm_),
            "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < ranks; ++rank) {
    texts.push_back(
        all.substr(static_cast<size_t>(offsets[rank]), static_cast<size_t>(lengths[rank])));
  }
  return texts;
}

}  // namespace syrtos::world
