#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "syrtos/world/tcp/stream.h"

namespace syrtos::world::tcp {

namespace {

// Bytes that are taken at once. Headers and small messages are put together, so that each does not
// become a record of its own.
constexpr size_t kStageBytes = 128 * 1024;
constexpr size_t kRecordBytes = 17 * 1024;  // at most

}  // namespace

TlsStream::TlsStream(Descriptor socket, std::unique_ptr<Tls> tls)
    : socket_(std::move(socket)),
      tls_(std::move(tls)),
      stage_(std::make_unique_for_overwrite<std::byte[]>(kStageBytes)) {}

bool TlsStream::flush() { return tls_->unsent() == 0 || tls_->flush(descriptor()); }

ssize_t TlsStream::write(const iovec* parts, size_t count) {
  size_t staged = 0;
  for (size_t i = 0; i < count && staged < kStageBytes; ++i) {
    const size_t bytes = std::min(parts[i].iov_len, kStageBytes - staged);
    std::memcpy(stage_.get() + staged, parts[i].iov_base, bytes);
    staged += bytes;
  }
  return tls_->write(descriptor(), stage_.get(), staged);
}

/// Until all is full or the kernel has no more: it tells only of what is new.
ssize_t TlsStream::read(const iovec* parts, size_t count) {
  looked_ = true;
  size_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    auto* place = static_cast<std::byte*>(parts[i].iov_base);
    for (size_t got = 0; got < parts[i].iov_len;) {
      const ssize_t more = tls_->read(descriptor(), place + got, parts[i].iov_len - got);
      if (more < 0 && errno == EBADMSG) return -1;
      if (more <= 0) return total > 0 ? static_cast<ssize_t>(total) : more;
      got += static_cast<size_t>(more);
      total += static_cast<size_t>(more);
    }
  }
  return static_cast<ssize_t>(total);
}

/// Something may have come together with the end of the handshake.
void TlsStream::poll(bool& readable, bool& /*writable*/) const {
  if (!looked_) readable = true;
}

/// So many bytes need at least as many, less those of a record that has not come as a whole.
void TlsStream::wake_at(size_t bytes) {
  const size_t here = kRecordBytes + tls_->unread();
  socket_.wake_at(bytes > here ? bytes - here : 1);
}

}  // namespace syrtos::world::tcp
