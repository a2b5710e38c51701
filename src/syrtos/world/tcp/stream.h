#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "syrtos/base/descriptor.h"
#include "syrtos/world/tls.h"

namespace syrtos::world::tcp {

/// What a stream has carried to its other side.
struct StreamUse {
  double bytes = 0;   ///< that have arrived
  double busy_s = 0;  ///< that some were on their way; without what the other side did not take
  int64_t retransmitted = 0;
};

/// Bytes to and from another rank, in order and without blocking: what a Connection writes its
/// frames to. A socket, memory that two ranks have in common, or something around one of them.
class Stream {
 public:
  virtual ~Stream() = default;

  /// As many bytes as go at once; -1 with errno set when none do (EAGAIN: not now).
  virtual ssize_t write(const iovec* parts, size_t count) = 0;
  /// As many bytes as are there; 0 when the other side has closed it, -1 as above.
  virtual ssize_t read(const iovec* parts, size_t count) = 0;
  virtual void close() = 0;
  /// Hands on what write() took and kept back; false with errno set as above when some is left.
  virtual bool flush() { return true; }

  /// What the kernel is asked about; -1: it knows nothing, poll() does.
  virtual int descriptor() const { return -1; }
  /// Sets what can be done now, where the kernel does not tell.
  virtual void poll(bool& /*readable*/, bool& /*writable*/) const {}
  /// Nobody need be woken before so many bytes are there, at least 1.
  virtual void wake_at(size_t /*bytes*/) {}
  /// Bytes that were written and have not arrived on the other side.
  virtual size_t unacknowledged() const = 0;
  /// Nothing, where nobody counts.
  virtual StreamUse use() const { return {}; }
};

class SocketStream final : public Stream {
 public:
  explicit SocketStream(Descriptor socket) : socket_(std::move(socket)) {}

  ssize_t write(const iovec* parts, size_t count) override;
  ssize_t read(const iovec* parts, size_t count) override;
  void close() override { socket_.close(); }
  int descriptor() const override { return socket_.get(); }
  void wake_at(size_t bytes) override;
  size_t unacknowledged() const override;
  StreamUse use() const override;

 private:
  Descriptor socket_;
  int wakes_at_ = 1;  // bytes
};

/// A socket whose bytes nobody else can read or change.
class TlsStream final : public Stream {
 public:
  /// Both have met.
  TlsStream(Descriptor socket, std::unique_ptr<Tls> tls);

  ssize_t write(const iovec* parts, size_t count) override;
  ssize_t read(const iovec* parts, size_t count) override;
  void close() override { socket_.close(); }
  bool flush() override;
  int descriptor() const override { return socket_.descriptor(); }
  void poll(bool& readable, bool& writable) const override;
  void wake_at(size_t bytes) override;
  size_t unacknowledged() const override { return tls_->unsent() + socket_.unacknowledged(); }
  StreamUse use() const override { return socket_.use(); }

 private:
  SocketStream socket_;
  std::unique_ptr<Tls> tls_;
  std::unique_ptr<std::byte[]> stage_;
  bool looked_ = false;  // at what had come before
};

}  // namespace syrtos::world::tcp
