#include "syrtos/trace/division.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "syrtos/base/error.h"

namespace syrtos::trace {

namespace {

constexpr std::string_view kHidden = "hidden_network";

double seconds_of(const nlohmann::json& json, std::string_view name) {
  const auto found = json.find(std::string(name));
  if (found == json.end()) fail_request("division of time: expected '{}', found none", name);
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!std::isfinite(value) || value < 0) {
    fail_request("division of time: expected seconds, 0 or more, for '{}', found {:.60}", name,
                 found->dump());
  }
  return value;
}

}  // namespace

double StepDivision::sum() const { return std::accumulate(seconds.begin(), seconds.end(), 0.0); }

StepDivision& StepDivision::operator+=(const StepDivision& other) {
  for (size_t i = 0; i < kParts; ++i) seconds[i] += other.seconds[i];
  hidden_network += other.hidden_network;
  return *this;
}

nlohmann::json to_json(const StepDivision& division) {
  nlohmann::json json = nlohmann::json::object();
  for (size_t i = 0; i < kParts; ++i) json[std::string(kPartNames[i])] = division.seconds[i];
  json[std::string(kHidden)] = division.hidden_network;
  return json;
}

StepDivision division_from_json(const nlohmann::json& json) {
  if (!json.is_object() || json.size() != kParts + 1) {
    fail_request("division of time: expected an object of {} parts and '{}', found {:.60}", kParts,
                 kHidden, json.dump());
  }
  StepDivision division;
  for (size_t i = 0; i < kParts; ++i) division.seconds[i] = seconds_of(json, kPartNames[i]);
  division.hidden_network = seconds_of(json, kHidden);
  return division;
}

}  // namespace syrtos::trace
