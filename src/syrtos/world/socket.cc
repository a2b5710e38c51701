#include "syrtos/world/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <system_error>

#include "syrtos/base/error.h"
#include "syrtos/base/log.h"

namespace syrtos::world {

namespace {

constexpr int kBacklog = 512;  // connections that the kernel keeps for us

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

/// Null with the reason when there are none.
Addresses look_up(const std::string& address, uint16_t port, int flags, int family,
                  std::string& why) {
  addrinfo hints{};
  hints.ai_family = family;
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

constexpr std::string_view kCongestion = "cubic";  // what nearly all kernels take by default

Descriptor make_socket(int family) {
  return Descriptor(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

void set_option(int socket, int level, int option, int value) {
  // Each of them only makes things better: a kernel without one of them works too.
  (void)setsockopt(socket, level, option, &value, sizeof(value));
}

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) {
    return {};
  }
  return text.data();
}

Descriptor spare() { return Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)); }

uint16_t bound_port(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  SYRTOS_CHECK(getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  if (address.ss_family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
  }
  return ntohs(reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

}  // namespace

Listener::Listener(const std::string& address, uint16_t port) {
  const bool any = address.empty();
  std::string why;
  Addresses found = look_up(address, port, AI_PASSIVE, any ? AF_INET6 : AF_UNSPEC, why);
  if (found) socket_ = make_socket(found->ai_family);
  if (any && !socket_.valid()) {  // a machine without IPv6
    found = look_up(address, port, AI_PASSIVE, AF_INET, why);
    if (found) socket_ = make_socket(found->ai_family);
  }
  bool listens = socket_.valid();
  if (listens) {
    if (any && found->ai_family == AF_INET6) {
      set_option(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
    }
    set_option(socket_.get(), SOL_SOCKET, SO_REUSEADDR, 1);
    listens = bind(socket_.get(), found->ai_addr, found->ai_addrlen) == 0 &&
              listen(socket_.get(), kBacklog) == 0;
  }
  if (!listens) {
    if (found) {
      why = errno == EADDRINUSE ? "the port is in use on this machine" : error_text(errno);
    }
    fail_request(
        "cannot listen at {} port {}: {}; name an address of this host and a free port, or none "
        "to get one",
        any ? "any address" : address, port, why);
  }
  port_ = bound_port(socket_.get());
  spare_ = spare();
}

Descriptor Listener::accept() {
  Descriptor found(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool exhausted = !found.valid() && (errno == EMFILE || errno == ENFILE);
  if (!exhausted || !spare_.valid()) return found;
  log_info("no descriptor is left (ulimit -n): a connection at port {} is turned away", port_);
  spare_.close();
  Descriptor(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)).close();
  spare_ = spare();
  return found;
}

Endpoint resolve(const std::string& address, uint16_t port) {
  std::string why;
  const Addresses found = look_up(address, port, 0, AF_UNSPEC, why);
  if (!found) fail_run("cannot find the address of '{}': {}", address, why);
  Endpoint endpoint;
  std::memcpy(&endpoint.address, found->ai_addr, found->ai_addrlen);
  endpoint.length = found->ai_addrlen;
  return endpoint;
}

Descriptor begin_connect(const Endpoint& endpoint) {
  Descriptor socket = make_socket(endpoint.address.ss_family);
  if (!socket.valid()) return socket;
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  if (connect(socket.get(), address, endpoint.length) != 0 && errno != EINPROGRESS) {
    const int error = errno;
    socket.close();
    errno = error;
  }
  return socket;
}

int connect_error(int socket) {
  int error = 0;
  socklen_t length = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

std::string find_address(const std::string& host) {
  std::string why;
  if (host.empty()) return {};
  for (const int family : {AF_INET, AF_INET6}) {
    const Addresses found = look_up(host, 0, 0, family, why);
    if (found) return numeric(found->ai_addr, found->ai_addrlen);
  }
  return {};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

bool is_to_itself(int socket) {
  sockaddr_storage own{};
  sockaddr_storage other{};
  socklen_t length = sizeof(own);
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&own), &length) != 0) return false;
  length = sizeof(other);
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&other), &length) != 0) return false;
  if (own.ss_family != other.ss_family) return false;
  if (own.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(other).sin_addr.s_addr;
  }
  if (own.ss_family != AF_INET6) return false;
  return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(other).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

std::string own_address_towards(const std::string& address) {
  constexpr uint16_t kAnyPort = 9;  // nothing is sent
  std::string why;
  const Addresses found = look_up(address, kAnyPort, AI_NUMERICHOST, AF_UNSPEC, why);
  if (!found) return {};
  const Descriptor probe(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  auto* const own_address = reinterpret_cast<sockaddr*>(&own);
  if (!probe.valid() || connect(probe.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      getsockname(probe.get(), own_address, &length) != 0) {
    return {};
  }
  return numeric(own_address, length);
}

void prepare_for_messages(int socket, double lost_after) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(lost_after * 1000));
  // What the kernel holds unsent can no longer be overtaken; the window itself may be larger.
  set_option(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 512 * 1024);
  // Where BBR is the default (it is made for long ways), exchanges that come in bursts on the short
  // way between hosts took a quarter to a third longer: it takes the pauses for a slow link.
  (void)setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, kCongestion.data(), kCongestion.size());
}

void watch_closely(int socket, double lost_after) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(std::ceil(lost_after)));
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(lost_after * 1000));
}

std::string error_text(int error) { return std::generic_category().message(error); }

}  // namespace syrtos::world
