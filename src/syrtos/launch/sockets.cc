#include "syrtos/launch/sockets.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>

#include "syrtos/base/error.h"

namespace syrtos::launch {

namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Addresses look_up(const std::string& host, uint16_t port, int flags, int family = AF_UNSPEC) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (getaddrinfo(host.empty() ? nullptr : host.c_str(), service.c_str(), &hints, &found) != 0) {
    found = nullptr;
  }
  return {found, freeaddrinfo};
}

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return text.data();
}

Descriptor make_socket(const addrinfo& address) {
  return Descriptor(
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP));
}

void set(const Descriptor& socket, int level, int option, int value) {
  setsockopt(socket.get(), level, option, &value, sizeof value);
}

}  // namespace

std::string find_address(const std::string& host) {
  for (const int family : {AF_INET, AF_INET6}) {
    const Addresses found = look_up(host, 0, 0, family);
    if (!host.empty() && found) return numeric(found->ai_addr, found->ai_addrlen);
  }
  return {};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

std::string own_address_towards(const std::string& address) {
  constexpr uint16_t kAnyPort = 9;  // nothing is sent
  const Addresses found = look_up(address, kAnyPort, AI_NUMERICHOST);
  if (!found) return {};
  const Descriptor probe(socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  auto* const own_address = reinterpret_cast<sockaddr*>(&own);
  if (!probe.valid() || connect(probe.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(probe.get(), own_address, &length) != 0) {
    return {};
  }
  return numeric(own_address, length);
}

Descriptor listen_at(const std::string& address, uint16_t port) {
  constexpr int kWaiting = 512;  // connections that the kernel keeps for us
  Addresses found =
      look_up(address, port, AI_NUMERICHOST | AI_PASSIVE, address.empty() ? AF_INET6 : AF_UNSPEC);
  Descriptor socket = found ? make_socket(*found) : Descriptor();
  if (!socket.valid() && address.empty()) {  // a machine without IPv6
    found = look_up(address, port, AI_PASSIVE, AF_INET);
    if (found) socket = make_socket(*found);
  }
  if (!found) fail_request("expected an address of this machine, found '{}'", address);
  if (!socket.valid()) fail_run("cannot make a socket: {}", std::strerror(errno));
  if (address.empty() && found->ai_family == AF_INET6) set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  set(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(socket.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      listen(socket.get(), kWaiting) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      fail_request("port {} is in use on this machine; choose another, or none to get a free one",
                   port);
    }
    fail_request("cannot listen at {}:{}: {}; expected an address of this machine", address, port,
                 std::strerror(error));
  }
  return socket;
}

uint16_t port_of(const Descriptor& socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) return 0;
  return ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&own)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&own)->sin_port);
}

Descriptor begin_connect(const std::string& address, uint16_t port) {
  const Addresses found = look_up(address, port, AI_NUMERICHOST);
  if (!found) {
    errno = EINVAL;
    return Descriptor();
  }
  Descriptor socket = make_socket(*found);
  if (!socket.valid()) return socket;
  if (connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    socket.close();
    errno = error;
  }
  return socket;
}

int connect_error(const Descriptor& socket) {
  int error = 0;
  socklen_t length = sizeof error;
  return getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

void watch_closely(const Descriptor& socket) {
  constexpr int kUnansweredMilliseconds = 2500;
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kUnansweredMilliseconds);
}

}  // namespace syrtos::launch
