#include "syrtos/world/mpi/communicator.h"

namespace syrtos::world {

std::vector<std::string> Communicator::gather(const std::string& text) const {
  const auto ranks = static_cast<size_t>(size());
  const int length = static_cast<int>(text.size());
  std::vector<int> lengths(ranks);
  mpi_.check(mpi_->all_gather_int(comm_, length, lengths.data()), "MPI_Allgather");
  std::vector<int> offsets(ranks);
  int total = 0;
  for (size_t rank = 0; rank < ranks; ++rank) {
    offsets[rank] = total;
    total += lengths[rank];
  }
  std::string all(static_cast<size_t>(total), '\0');
  mpi_.check(
      mpi_->all_gather_text(comm_, text.data(), length, all.data(), lengths.data(), offsets.data()),
      "MPI_Allgatherv");
  std::vector<std::string> texts;
  for (size_t rank = 0; rank < ranks; ++rank) {
    texts.push_back(
        all.substr(static_cast<size_t>(offsets[rank]), static_cast<size_t>(lengths[rank])));
  }
  return texts;
}

}  // namespace syrtos::world
