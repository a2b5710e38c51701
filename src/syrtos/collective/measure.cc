#include "syrtos/collective/measure.h"

#include <algorithm>
#include <cstring>

#include "syrtos/base/statistics.h"
#include "syrtos/collective/bytes.h"
#include "syrtos/collective/flight.h"

namespace syrtos::collective {

namespace {

constexpr int kWarmUps = 2;
constexpr int kSmall = 21;  // messages
constexpr int kLarge = 5;
constexpr size_t kLargeBytes = 1 << 20;

/// One member of each host or, on a single host, everybody: pairs of them measure.
std::vector<int> measuring(const Group& group) {
  std::vector<int> members;
  std::vector<bool> seen(static_cast<size_t>(group.hosts()), false);
  for (int member = 0; member < group.size(); ++member) {
    const auto host = static_cast<size_t>(group.host_of(member));
    if (seen[host] && group.hosts() > 1) continue;
    seen[host] = true;
    members.push_back(member);
  }
  return members;
}

/// -1 when it measures with nobody.
int partner_of(const Group& group, int member) {
  const std::vector<int> members = measuring(group);
  const auto found = std::find(members.begin(), members.end(), member);
  if (found == members.end()) return -1;
  const auto partner = static_cast<size_t>(found - members.begin()) ^ 1;
  return partner < members.size() ? members[partner] : -1;
}

/// Both send so many bytes and receive as many.
world::Task<> exchange(world::World& world, world::Rank peer, world::Tag tag, Bytes& out,
                       Bytes& in) {
  Flight flight(world, 2);
  flight.recv(peer, tag, {in.data(), in.size()});
  flight.send(peer, tag, {out.data(), out.size()}, 0);
  while (!flight.landed()) co_await flight;
}

world::Task<LinkSpeed> measure_pair(world::World& world, world::Rank peer, world::Tag tag) {
  std::vector<double> small = co_await small_messages(world, peer, tag, kWarmUps, kSmall);
  const double latency = median(std::move(small));
  Bytes out(kLargeBytes);
  Bytes in(kLargeBytes);
  std::vector<double> seconds;
  for (int i = 0; i < kWarmUps + kLarge; ++i) {
    const double start = world.now();
    co_await exchange(world, peer, tag, out, in);
    if (i >= kWarmUps) seconds.push_back(world.now() - start);
  }
  // A clock that did not move: faster than it can tell.
  const double crossing = std::max(median(std::move(seconds)) - latency, 1e-6);
  co_return LinkSpeed{latency, kLargeBytes / crossing};
}

LinkSpeed slowest(const std::vector<Bytes>& measured) {
  LinkSpeed worst = kMemory;
  bool first = true;
  for (const Bytes& bytes : measured) {
    LinkSpeed speed;
    if (bytes.size() != sizeof(speed)) continue;
    std::memcpy(&speed, bytes.data(), sizeof(speed));
    worst.latency_s = first ? speed.latency_s : std::max(worst.latency_s, speed.latency_s);
    worst.bytes_per_s = first ? speed.bytes_per_s : std::min(worst.bytes_per_s, speed.bytes_per_s);
    first = false;
  }
  return worst;
}

Bytes bytes_of(const LinkSpeed& speed) {
  const auto* first = reinterpret_cast<const std::byte*>(&speed);
  return {first, first + sizeof(speed)};
}

}  // namespace

world::Task<std::vector<double>> small_messages(world::World& world, world::Rank peer,
                                                world::Tag tag, int warm_ups, int count) {
  std::vector<double> seconds;
  uint64_t word = 0;
  const world::Source source{&word, sizeof(word)};
  const world::Target target{&word, sizeof(word)};
  for (int i = 0; i < warm_ups + count; ++i) {
    const double start = world.now();
    if (world.rank() < peer) {
      co_await world.send(peer, tag, source);
      co_await world.recv(peer, tag, target);
    } else {
      co_await world.recv(peer, tag, target);
      co_await world.send(peer, tag, source);
    }
    if (i >= warm_ups) seconds.push_back((world.now() - start) / 2);
  }
  co_return seconds;
}

world::Task<LinkSpeed> measure_link(world::World& world, const Group& group, world::Tag tag) {
  const int member = group.index_of(world.rank());
  SYRTOS_CHECK(member >= 0, "rank {} is not in the group", world.rank());
  const int partner = partner_of(group, member);
  Bytes mine;
  if (partner >= 0) {
    const LinkSpeed speed = co_await measure_pair(world, group.rank_of(partner), tag);
    mine = bytes_of(speed);
  }
  const std::vector<Bytes> measured = co_await gather_bytes(world, group, std::move(mine), 0, tag);
  Bytes answer = bytes_of(slowest(measured));
  answer = co_await broadcast_bytes(world, group, std::move(answer), 0, tag);
  LinkSpeed speed;
  std::memcpy(&speed, answer.data(), sizeof(speed));
  co_return speed;
}

}  // namespace syrtos::collective
