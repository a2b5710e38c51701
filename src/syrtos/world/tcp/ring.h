#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace syrtos::world::tcp {

constexpr size_t kRingBytes = 256 * 1024;
constexpr size_t kPullSlots = 128;

/// One direction between two processes, in memory that both map. All zero is an empty ring.
struct Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  std::atomic<uint32_t> writer_sleeps;
  /// Of messages that the reader takes from the writer's memory by itself: 1 while it may.
  alignas(64) std::atomic<uint32_t> live[kPullSlots];
  alignas(64) std::byte data[kRingBytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// A stream of bytes over two rings. Whoever sleeps leaves a note there, and the other one then
/// wakes it over a socket.
class RingStream {
 public:
  RingStream(Ring& out, Ring& in) : out_(&out), in_(&in) {}

  bool readable() const {
    return in_->written.load(std::memory_order_acquire) !=
           in_->read.load(std::memory_order_relaxed);
  }
  bool writable() const { return unread() < kRingBytes; }
  /// Written, and not read by the other side.
  size_t unread() const {
    return out_->written.load(std::memory_order_relaxed) -
           out_->read.load(std::memory_order_acquire);
  }
  /// As many bytes as fit, or are there.
  size_t write(const iovec* parts, size_t count);
  size_t read(const iovec* parts, size_t count);

  /// Leaves the note; false when there is something to do after all.
  bool fall_asleep(bool wants_to_write);
  void wake_up();
  /// The other side sleeps and has something to do.
  bool must_wake();

  std::atomic<uint32_t>& live_out(size_t slot) { return out_->live[slot]; }
  const std::atomic<uint32_t>& live_in(size_t slot) const { return in_->live[slot]; }

 private:
  Ring* out_;
  Ring* in_;
  bool wrote_ = false;  // since must_wake() was asked
  bool read_ = false;
};

}  // namespace syrtos::world::tcp
