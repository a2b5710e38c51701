#include "syrtos/trace/division.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "syrtos/base/error.h"

namespace syrtos::trace {

namespace {

constexpr std::string_view kHidden = "hidden_network";

double seconds_of(const nlohmann::json& json, std::string_view name, size_t& named) {
  const auto found = json.find(std::string(name));
  if (found == json.end()) return 0;
  ++named;
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!std::isfinite(value) || value < 0) {
    fail_request("division of time: expected seconds, 0 or more, for '{}', found {:.60}", name,
                 found->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
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
  for (size_t i = 0; i < kParts; ++i) {
    json[std::string(kPartNames[i])] = std::max(0.0, division.seconds[i]);
  }
  json[std::string(kHidden)] = std::max(0.0, division.hidden_network);
  return json;
}

StepDivision division_from_json(const nlohmann::json& json) {
  if (!json.is_object()) {
    fail_request("division of time: expected an object of parts, found {:.60}",
                 json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  StepDivision division;
  size_t named = 0;
  for (size_t i = 0; i < kParts; ++i) division.seconds[i] = seconds_of(json, kPartNames[i], named);
  division.hidden_network = seconds_of(json, kHidden, named);
  if (named != json.size()) {
    fail_request("division of time: expected {} and {}, found other parts too: {:.200}",
                 fmt::join(kPartNames, ", "), kHidden,
                 json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return division;
}

}  // namespace syrtos::trace
