#include "syrtos/launch/link.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <memory>

#include "syrtos/base/descriptor.h"

namespace syrtos::launch {

namespace {

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text.data(),
              text.size());
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text.data(),
              text.size());
  }
  return text.data();
}

std::string interface_of(const std::string& address) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    if (text_of(one->ifa_addr) == address) return one->ifa_name;
  }
  return {};
}

}  // namespace

// Through a socket: /sys belongs to the network of whoever mounted it.
Link find_link(const std::string& address) {
  Link link;
  link.name = interface_of(address);
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (link.name.empty() || !socket.valid()) return link;
  ifreq request{};
  std::strncpy(request.ifr_name, link.name.c_str(), IFNAMSIZ - 1);
  if (ioctl(socket.get(), SIOCGIFMTU, &request) == 0) link.mtu = request.ifr_mtu;
  ethtool_cmd command{};
  command.cmd = ETHTOOL_GSET;
  request.ifr_data = reinterpret_cast<char*>(&command);
  if (ioctl(socket.get(), SIOCETHTOOL, &request) == 0) {
    const uint32_t speed = ethtool_cmd_speed(&command);
    constexpr uint32_t kUnknown = 0x7fffffff;
    if (speed > 0 && speed < kUnknown) link.mbit = static_cast<int>(speed);
  }
  return link;
}

}  // namespace syrtos::launch
