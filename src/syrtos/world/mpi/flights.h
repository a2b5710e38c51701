#pragma once

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <vector>

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

/// One MPI request.
struct Flight {
  enum class Kind { control, segment_out, segment_in, all_reduce };
  Kind kind;
  void* owner = nullptr;
  size_t offset = 0;  ///< of a segment
  size_t bytes = 0;
  Buffer buffer;  ///< that the request uses, if it is not the user's memory
};

/// The requests that MPI works on, in the order in which they were made.
class Flights {
 public:
  bool empty() const { return flights_.empty(); }
  /// The caller starts the request that it gets, at once.
  MPI_Request* add(Flight flight);
  /// Those that have ended, until the next call.
  std::vector<Flight>& ended();

  struct Cancelled {
    std::vector<Flight> never_began;
    std::vector<Flight> ended;  ///< it was too late
  };
  /// Takes back the owner's receptions from `offset` on; with `into_users_memory`, only those.
  Cancelled cancel(const void* owner, size_t offset, bool into_users_memory);

 private:
  void compact();

  std::vector<MPI_Request> requests_;
  std::vector<Flight> flights_;
  std::vector<int> indices_;
  std::vector<Flight> ended_;
};

}  // namespace syrtos::world
