#include "syrtos/world/tcp/socket.h"

#include <netdb.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>

#include "syrtos/base/error.h"

namespace syrtos::world {

namespace {

constexpr int kBacklog = 512;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Null with the reason when there are none.
Addresses find(const std::string& address, uint16_t port, int flags, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address.empty() ? nullptr : address.c_str(),
                                std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    why = gai_strerror(error);
    found = nullptr;
  }
  return {found, &freeaddrinfo};
}

uint16_t bound_port(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  SYRTOS_CHECK(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

void set_option(int socket, int level, int option, int value) {
  // Each of them only makes things better: a kernel without one of them works too.
  (void)setsockopt(socket, level, option, &value, sizeof(value));
}

}  // namespace

Listener::Listener(const std::string& address, uint16_t port) {
  std::string why;
  const Addresses found = find(address, port, AI_PASSIVE, why);
  if (found) {
    socket_ = Descriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    set_option(socket_.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    if (!socket_.valid() || bind(socket_.get(), found->ai_addr, found->ai_addrlen) != 0 ||
        listen(socket_.get(), kBacklog) != 0) {
      why = tcp::error_text(errno);
    }
  }
  if (!why.empty()) {
    fail_request("cannot listen at {} port {}: {}; name an address of this host and a free port",
                 address.empty() ? "any address" : address, port, why);
  }
  port_ = bound_port(socket_.get());
}

namespace tcp {

Endpoint resolve(const std::string& address, uint16_t port) {
  std::string why;
  const Addresses found = find(address, port, 0, why);
  if (!found) fail_run("cannot find the address of '{}': {}", address, why);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  endpoint.length = found->ai_addrlen;
  return endpoint;
}

Descriptor begin_connect(const Endpoint& endpoint) {
  Descriptor socket(
      ::socket(endpoint.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return socket;
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  if (connect(socket.get(), address, endpoint.length) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    socket.close();
    errno = error;
  }
  return socket;
}

void prepare(int socket, double lost_after) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(lost_after * 1000));
  // What the kernel holds unsent can no longer be overtaken; the window itself may be larger.
  set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 512 * 1024);
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace tcp

}  // namespace syrtos::world
