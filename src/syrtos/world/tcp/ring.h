#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "syrtos/world/tcp/stream.h"

namespace syrtos::world::tcp {

constexpr size_t kRingBytes = 256 * 1024;
constexpr size_t kPullSlots = 128;

/// One direction between two processes, in memory that both map. All zero is an empty ring.
struct Ring {
  alignas(64) std::atomic<uint64_t> written;
  alignas(64) std::atomic<uint64_t> read;
  alignas(64) std::atomic<uint32_t> reader_sleeps;
  std::atomic<uint32_t> writer_sleeps;
  /// One for each message that the reader takes from the writer's memory by itself: 1 while it may.
  alignas(64) std::atomic<uint32_t> live[kPullSlots];
  alignas(64) std::byte data[kRingBytes];
};
static_assert(std::atomic<uint64_t>::is_always_lock_free);

/// A stream of bytes over two rings, which outlive it. It does not notice that the other side is
/// gone. Whoever sleeps leaves a note there, and the other one then wakes it over a socket.
class RingStream final : public Stream {
 public:
  RingStream(Ring& out, Ring& in) : out_(&out), in_(&in) {}

  ssize_t write(const iovec* parts, size_t count) override;
  ssize_t read(const iovec* parts, size_t count) override;
  void close() override {}
  void poll(bool& readable, bool& writable) const override {
    readable = this->readable();
    writable = unacknowledged() < kRingBytes;
  }
  size_t unacknowledged() const override {
    return out_->written.load(std::memory_order_relaxed) -
           out_->read.load(std::memory_order_acquire);
  }

  bool readable() const {
    return in_->written.load(std::memory_order_acquire) !=
           in_->read.load(std::memory_order_relaxed);
  }

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
