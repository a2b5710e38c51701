#include "syrtos/world/sim/chance.h"

#include <cmath>
#include <numbers>

#include "syrtos/base/philox.h"

namespace syrtos::world {

namespace {

constexpr double kPacketBytes = 1460;  // of Ethernet and TCP

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

double unit(uint32_t a, uint32_t b) {
  const uint64_t bits = (uint64_t{a} << 32 | b) >> 12;
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

}  // namespace

Chance::Draw Chance::draw(Subject subject, Rank rank, uint64_t number) const {
  const Philox::Counter words = philox(
      {low(seed_), high(seed_)},
      {static_cast<uint32_t>(subject), static_cast<uint32_t>(rank), low(number), high(number)});
  return {unit(words[0], words[1]), unit(words[2], words[3])};
}

double Chance::delay(Rank rank, uint64_t message, double bytes) const {
  if (faults_.message_delay_max == 0 && faults_.loss == 0) return 0;
  const auto [late, lost] = draw(Subject::message, rank, message);
  const double packets = std::max(1.0, std::ceil(bytes / kPacketBytes));
  const double whole = std::pow(1 - faults_.loss, packets);
  return late * faults_.message_delay_max + (lost < whole ? 0 : faults_.retransmit_after);
}

/// By Box and Muller.
double Chance::normal_of(const Draw& draw) {
  return std::sqrt(-2 * std::log(draw.first)) * std::cos(2 * std::numbers::pi * draw.second);
}

double Chance::share(Rank from, Rank to, uint32_t message) const {
  return normal_of(
      draw(Subject::share, from, static_cast<uint64_t>(static_cast<uint32_t>(to)) << 32 | message));
}

double Chance::slowness(Rank rank, uint64_t job, double jitter) const {
  double factor = 1;
  if (jitter > 0) {
    // Log-normal: never negative, mean 1.
    const double normal = normal_of(draw(Subject::jitter, rank, job));
    const double variance = std::log1p(jitter * jitter);
    factor = std::exp(std::sqrt(variance) * normal - variance / 2);
  }
  if (faults_.slow_probability > 0 &&
      draw(Subject::slow, rank, job).first < faults_.slow_probability) {
    factor *= faults_.slow_factor;
  }
  return factor;
}

}  // namespace syrtos::world
