#include "syrtos/planner/probe_stream.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "syrtos/base/statistics.h"
#include "syrtos/collective/flight.h"
#include "syrtos/collective/measure.h"
#include "syrtos/world/started.h"

namespace syrtos::planner {

using collective::Flight;
using world::Started;
using world::Tag;
using world::Task;
using world::World;

namespace {

constexpr int kWarmUps = 5;  // small messages
constexpr int kSmall = 41;
constexpr size_t kTrialBytes = 256 * 1024;
constexpr int kTrials = 2;
constexpr uint8_t kLanes = 2;       // messages of a stream that are on their way at a time
constexpr int kLeastMessages = 4;   // of a lane
constexpr size_t kMostWindows = 5;  // in which the rate is taken
constexpr double kWarmPart = 0.2;   // of the time
constexpr double kMessageSeconds = 0.01;
constexpr double kLeastBytes = 64 * 1024;
constexpr double kMostBytes = 2 * 1024 * 1024;

using Buffer = std::vector<std::byte>;

/// The first byte says whether it is the last message.
Task<> send_lane(World& world, Rank to, Tag tag, size_t bytes, double until) {
  Buffer buffer(bytes);
  const world::Source source{buffer.data(), buffer.size()};
  bool last = false;
  for (int sent = 1; !last; ++sent) {
    last = sent >= kLeastMessages && world.now() >= until;
    buffer[0] = std::byte{last};
    co_await world.send(to, tag, source);
  }
}

Task<> recv_lane(World& world, Rank from, Tag tag, size_t bytes, std::vector<double>& arrivals) {
  Buffer buffer(bytes);
  const world::Target target{buffer.data(), buffer.size()};
  bool last = false;
  while (!last) {
    co_await world.recv(from, tag, target);
    arrivals.push_back(world.now());
    last = buffer[0] != std::byte{0};
  }
}

/// The first messages fill buffers and find the speed of the connection, so they do not count; nor
/// do those that came after `until`, when others may have ceased to send, if there are enough.
/// What a lost packet held up arrives in a burst later: only all of it together is the rate, parts
/// of it show how certain it is.
Figure rate_of(std::vector<double> arrivals, size_t bytes, double begin, double until) {
  constexpr size_t kEnough = kLanes * kLeastMessages;
  std::ranges::sort(arrivals);
  while (arrivals.size() > kEnough && arrivals.back() > until) arrivals.pop_back();
  const double warm = begin + kWarmPart * (arrivals.back() - begin);
  size_t first = 1;
  while (first + kEnough / 2 < arrivals.size() - 1 && arrivals[first] < warm) ++first;
  const size_t counted = arrivals.size() - 1 - first;
  const auto rate = [&](size_t from, size_t to) {
    // A clock that did not move: faster than it can tell.
    const double seconds = std::max(arrivals[first + to] - arrivals[first + from], 1e-6);
    return static_cast<double>((to - from) * bytes) / seconds;
  };
  const size_t windows = std::min(kMostWindows, counted / kLanes);
  std::vector<double> rates;
  for (size_t window = 0; window < windows; ++window) {
    rates.push_back(rate(counted * window / windows, counted * (window + 1) / windows));
  }
  const double spread = relative_spread(std::move(rates)) / std::sqrt(static_cast<double>(windows));
  return {rate(0, counted), spread};
}

}  // namespace

Task<Figure> ping_pong(World& world, Rank peer, Tag tag) {
  const std::vector<double> seconds =
      co_await collective::small_messages(world, peer, tag, kWarmUps, kSmall);
  co_return Figure{median(seconds), relative_spread(seconds)};
}

size_t message_bytes(double bytes_per_s) {
  constexpr size_t kGrain = 4096;
  const double bytes = std::clamp(bytes_per_s * kMessageSeconds, kLeastBytes, kMostBytes);
  return static_cast<size_t>(bytes) / kGrain * kGrain;
}

Task<size_t> agree_on_bytes(World& world, Rank peer, Tag tag) {
  Buffer out(kTrialBytes);
  Buffer in(kTrialBytes);
  double seconds = 0;
  for (int i = 0; i < kTrials; ++i) {
    const double start = world.now();
    Flight flight(world, 2);
    flight.recv(peer, tag, {in.data(), in.size()});
    flight.send(peer, tag, {out.data(), out.size()}, 0);
    while (!flight.landed()) co_await flight;
    seconds = std::max(world.now() - start, 1e-6);
  }
  uint64_t bytes = message_bytes(static_cast<double>(kTrialBytes) / seconds);
  const world::Source source{&bytes, sizeof(bytes)};
  const world::Target target{&bytes, sizeof(bytes)};
  if (world.rank() < peer) {
    co_await world.send(peer, tag, source);
  } else {
    co_await world.recv(peer, tag, target);
  }
  co_return bytes;
}

Task<Figure> stream(World& world, std::vector<Stream> out, std::vector<Stream> in, Tag tag,
                    double seconds) {
  const double begin = world.now();
  const double until = begin + seconds;
  std::vector<std::vector<double>> arrivals(in.size());
  std::vector<Started> tasks;
  for (tag.part = 0; tag.part < kLanes; ++tag.part) {
    for (size_t i = 0; i < in.size(); ++i) {
      tasks.emplace_back(world, recv_lane(world, in[i].peer, tag, in[i].bytes, arrivals[i]));
    }
    for (const Stream& one : out) {
      tasks.emplace_back(world, send_lane(world, one.peer, tag, one.bytes, until));
    }
  }
  co_await join_all(world, tasks);
  Figure all;
  for (size_t i = 0; i < in.size(); ++i) {
    const Figure one = rate_of(std::move(arrivals[i]), in[i].bytes, begin, until);
    all.value += one.value;
    all.spread = std::max(all.spread, one.spread);
  }
  co_return all;
}

}  // namespace syrtos::planner
