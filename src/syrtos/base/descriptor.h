#pragma once

#include <unistd.h>

#include <utility>

namespace syrtos {

/// Owns a file descriptor; -1 means none.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  Descriptor(Descriptor&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() { close(); }

  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  int get() const { return descriptor_; }
  bool valid() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// Lets this process open as many descriptors as its administrator allows: each rank, and each
/// file, is one.
void raise_descriptor_limit();

/// Both ends of a pipe; programs that are started do not inherit them.
struct Pipe {
  /// Throws RunError.
  Pipe();
  Descriptor reading;
  Descriptor writing;
};

}  // namespace syrtos
