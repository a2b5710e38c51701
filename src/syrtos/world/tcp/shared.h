#pragma once

#include <memory>

#include "syrtos/world/tcp/ring.h"

namespace syrtos::world::tcp {

/// Memory that two ranks of one host have in common, and the way to read the other's own.
class SharedMemory {
 public:
  /// Agrees with the other side over a connected socket; both must call it. Null, without further
  /// notice, when the two have no memory in common: other hosts or containers, or no room. Throws
  /// RunError when the other side does not answer within so many seconds.
  static std::unique_ptr<SharedMemory> agree(int socket, bool offers, double seconds);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  std::unique_ptr<RingStream> stream() const { return std::make_unique<RingStream>(*out_, *in_); }
  /// The other process's memory can be read.
  bool can_pull() const { return can_pull_; }
  /// False with errno set when it cannot be read after all.
  bool pull(uint64_t address, void* to, size_t bytes) const;

 private:
  struct Segment;
  SharedMemory() = default;
  bool probe(uint64_t address, uint64_t expected);

  Segment* segment_ = nullptr;
  Ring* out_ = nullptr;
  Ring* in_ = nullptr;
  int process_ = 0;
  bool can_pull_ = false;
};

}  // namespace syrtos::world::tcp
