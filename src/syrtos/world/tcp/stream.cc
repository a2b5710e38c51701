#include "syrtos/world/tcp/stream.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

namespace syrtos::world::tcp {

ssize_t SocketStream::write(const iovec* parts, size_t count) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts);
  message.msg_iovlen = count;
  return sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t SocketStream::read(const iovec* parts, size_t count) {
  return readv(socket_.get(), parts, static_cast<int>(count));
}

void SocketStream::wake_at(size_t bytes) {
  const int wanted = static_cast<int>(bytes);
  if (wanted == wakes_at_ || !socket_.valid()) return;
  wakes_at_ = wanted;
  // It tells us at once if so many are there already.
  (void)setsockopt(socket_.get(), SOL_SOCKET, SO_RCVLOWAT, &wanted, sizeof(wanted));
}

size_t SocketStream::unacknowledged() const {
  int bytes = 0;
  if (!socket_.valid() || ioctl(socket_.get(), SIOCOUTQ, &bytes) != 0) return 0;
  return static_cast<size_t>(bytes);
}

StreamUse SocketStream::use() const {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (!socket_.valid() || getsockopt(socket_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
    return {};
  }
  // A kernel that does not know these has left them 0.
  const auto busy = static_cast<double>(info.tcpi_busy_time - info.tcpi_rwnd_limited);
  return {.bytes = static_cast<double>(info.tcpi_bytes_acked),
          .busy_s = 1e-6 * busy,
          .retransmitted = info.tcpi_total_retrans};
}

}  // namespace syrtos::world::tcp
