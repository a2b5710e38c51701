#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "syrtos/world/mpi/library.h"

namespace syrtos::world {

using Buffer = std::unique_ptr<std::byte[]>;

/// Memory for messages, used again and again.
class Buffers {
 public:
  explicit Buffers(size_t bytes) : bytes_(bytes) {}
  size_t bytes() const { return bytes_; }
  Buffer take();
  void give_back(Buffer buffer);

 private:
  size_t bytes_;
  std::vector<Buffer> free_;
};

/// What one MPI request moves or reduces.
struct Piece {
  enum class Kind { control, segment_out, segment_in, all_reduce };
  Kind kind;
  void* owner = nullptr;
  size_t offset = 0;  ///< of a segment
  size_t bytes = 0;
  Buffer buffer;  ///< that the request uses, if it is not the user's memory
};

/// What MPI works on, in the order in which it was begun.
class Pieces {
 public:
  explicit Pieces(const MpiLibrary& mpi) : mpi_(mpi) {}
  bool empty() const { return pieces_.empty(); }
  /// The caller starts the request that it gets, at once.
  SyrtosMpiHandle* add(Piece piece);
  /// Those that have ended, until the next call.
  std::vector<Piece>& ended();

  struct Cancelled {
    std::vector<Piece> never_began;
    std::vector<Piece> ended;  ///< it was too late
  };
  /// Takes back the owner's receptions from `offset` on; with `into_users_memory`, only those.
  Cancelled cancel(const void* owner, size_t offset, bool into_users_memory);

 private:
  void compact();

  const MpiLibrary& mpi_;
  std::vector<SyrtosMpiHandle> requests_;
  std::vector<Piece> pieces_;
  std::vector<int> indices_;
  std::vector<Piece> ended_;
};

}  // namespace syrtos::world
