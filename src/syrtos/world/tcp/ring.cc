#include "syrtos/world/tcp/ring.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace syrtos::world::tcp {

namespace {

ssize_t nothing_now() {
  errno = EAGAIN;
  return -1;
}

}  // namespace

ssize_t RingStream::write(const iovec* parts, size_t count) {
  const uint64_t begin = out_->written.load(std::memory_order_relaxed);
  const uint64_t limit = out_->read.load(std::memory_order_acquire) + kRingBytes;
  uint64_t at = begin;
  for (size_t i = 0; i < count && at < limit; ++i) {
    const auto* from = static_cast<const std::byte*>(parts[i].iov_base);
    size_t bytes = std::min<size_t>(parts[i].iov_len, limit - at);
    while (bytes > 0) {
      const size_t place = at % kRingBytes;
      const size_t piece = std::min(bytes, kRingBytes - place);
      std::memcpy(out_->data + place, from, piece);
      at += piece;
      from += piece;
      bytes -= piece;
    }
  }
  if (at == begin) return nothing_now();
  // This store and the note that the other side leaves before it sleeps have one order.
  out_->written.store(at, std::memory_order_seq_cst);
  wrote_ = true;
  return static_cast<ssize_t>(at - begin);
}

ssize_t RingStream::read(const iovec* parts, size_t count) {
  const uint64_t begin = in_->read.load(std::memory_order_relaxed);
  const uint64_t limit = in_->written.load(std::memory_order_acquire);
  uint64_t at = begin;
  for (size_t i = 0; i < count && at < limit; ++i) {
    auto* to = static_cast<std::byte*>(parts[i].iov_base);
    size_t bytes = std::min<size_t>(parts[i].iov_len, limit - at);
    while (bytes > 0) {
      const size_t place = at % kRingBytes;
      const size_t piece = std::min(bytes, kRingBytes - place);
      std::memcpy(to, in_->data + place, piece);
      at += piece;
      to += piece;
      bytes -= piece;
    }
  }
  if (at == begin) return nothing_now();
  in_->read.store(at, std::memory_order_seq_cst);
  read_ = true;
  return static_cast<ssize_t>(at - begin);
}

bool RingStream::fall_asleep(bool wants_to_write) {
  in_->reader_sleeps.store(1, std::memory_order_seq_cst);
  out_->writer_sleeps.store(wants_to_write ? 1 : 0, std::memory_order_seq_cst);
  const bool something =
      in_->written.load(std::memory_order_seq_cst) != in_->read.load(std::memory_order_relaxed);
  const bool room = wants_to_write && out_->written.load(std::memory_order_relaxed) -
                                              out_->read.load(std::memory_order_seq_cst) <
                                          kRingBytes;
  if (!something && !room) return true;
  wake_up();
  return false;
}

void RingStream::wake_up() {
  in_->reader_sleeps.store(0, std::memory_order_relaxed);
  out_->writer_sleeps.store(0, std::memory_order_relaxed);
}

bool RingStream::must_wake() {
  bool must = false;
  if (wrote_ && out_->reader_sleeps.load(std::memory_order_seq_cst) != 0) {
    must = out_->reader_sleeps.exchange(0) != 0;
  }
  if (read_ && in_->writer_sleeps.load(std::memory_order_seq_cst) != 0) {
    must = in_->writer_sleeps.exchange(0) != 0 || must;
  }
  wrote_ = read_ = false;
  return must;
}

}  // namespace syrtos::world::tcp
