#include "syrtos/world/mpi/pieces.h"

#include <algorithm>
#include <utility>

namespace syrtos::world {

namespace {
constexpr size_t kKept = 32;  // buffers
}

Buffer Buffers::take() {
  if (free_.empty()) return std::make_unique_for_overwrite<std::byte[]>(bytes_);
  Buffer buffer = std::move(free_.back());
  free_.pop_back();
  return buffer;
}

void Buffers::give_back(Buffer buffer) {
  if (buffer && free_.size() < kKept) free_.push_back(std::move(buffer));
}

SyrtosMpiHandle* Pieces::add(Piece piece) {
  pieces_.push_back(std::move(piece));
  requests_.push_back(0);
  return &requests_.back();
}

std::vector<Piece>& Pieces::ended() {
  ended_.clear();
  if (pieces_.empty()) return ended_;
  indices_.resize(requests_.size());
  int count = 0;
  mpi_.check(mpi_->test_some(static_cast<int>(requests_.size()), requests_.data(), &count,
                             indices_.data()),
             "MPI_Testsome");
  if (count == 0) return ended_;
  std::sort(indices_.begin(), indices_.begin() + count);
  for (int i = 0; i < count; ++i) {
    ended_.push_back(std::move(pieces_[static_cast<size_t>(indices_[static_cast<size_t>(i)])]));
  }
  compact();
  return ended_;
}

Pieces::Cancelled Pieces::cancel(const void* owner, size_t offset, bool into_users_memory) {
  Cancelled result;
  // The last one goes first: what arrives meanwhile belongs to the first that is still there.
  for (size_t i = pieces_.size(); i-- > 0;) {
    Piece& piece = pieces_[i];
    if (piece.kind != Piece::Kind::segment_in || piece.owner != owner) continue;
    if (piece.offset < offset || (into_users_memory && piece.buffer)) continue;
    int cancelled = 0;
    mpi_.check(mpi_->cancel(&requests_[i], &cancelled), "MPI_Cancel");
    (cancelled != 0 ? result.never_began : result.ended).push_back(std::move(piece));
  }
  std::reverse(result.never_began.begin(), result.never_began.end());
  compact();
  return result;
}

void Pieces::compact() {
  size_t kept = 0;
  for (size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == 0) continue;
    if (i != kept) {
      requests_[kept] = requests_[i];
      pieces_[kept] = std::move(pieces_[i]);
    }
    ++kept;
  }
  requests_.resize(kept);
  pieces_.erase(pieces_.begin() + static_cast<std::ptrdiff_t>(kept), pieces_.end());
}

}  // namespace syrtos::world
