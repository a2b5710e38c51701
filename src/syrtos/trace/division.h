#pragma once

#include <array>
#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace syrtos::trace {

/// What a rank's time goes into; every moment of a step belongs to one of them.
enum class Part {
  load,  // waiting for a batch
  forward,
  backward,
  update,
  network,  // exchanging, with nothing to compute meanwhile
  wait,     // for a slower rank or server
  bubble,   // for another part of the network: its activations, or their gradients
  evaluate,
  checkpoint,
  other,
};
inline constexpr size_t kParts = 10;
inline constexpr std::array<std::string_view, kParts> kPartNames = {
    "load", "forward", "backward", "update",     "network",
    "wait", "bubble",  "evaluate", "checkpoint", "other"};

inline constexpr std::string_view name_of(Part part) {
  return kPartNames[static_cast<size_t>(part)];
}

/// Where the time of one step, of many, or of an epoch went, in seconds.
struct StepDivision {
  std::array<double, kParts> seconds = {};
  double hidden_network = 0;  // that an exchange ran beside computing; not part of the sum

  double& operator[](Part part) { return seconds[static_cast<size_t>(part)]; }
  double operator[](Part part) const { return seconds[static_cast<size_t>(part)]; }
  double sum() const;
  /// Without what happens between steps: evaluating and checkpoints.
  double training() const { return sum() - (*this)[Part::evaluate] - (*this)[Part::checkpoint]; }
  StepDivision& operator+=(const StepDivision& other);
  bool operator==(const StepDivision&) const = default;
};

/// {"load": 0.5, ..., "other": 0, "hidden_network": 0.1}. What is computed as a difference of times
/// may come out a little below nothing, and is written as nothing.
nlohmann::json to_json(const StepDivision& division);
/// Such an object; parts that it does not name took no time. Throws RequestError that says what is
/// wrong with it.
StepDivision division_from_json(const nlohmann::json& json);

}  // namespace syrtos::trace
