#include "syrtos/world/tcp/stream.h"

#include <linux/sockios.h>
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

}  // namespace syrtos::world::tcp
