#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/report/run.h"

namespace syrtos::report {

using nlohmann::json;

// Values of an object that may be anything; what is missing or of another type is the default.
double number_in(const json& object, const char* key, double otherwise = 0);
int64_t count_in(const json& object, const char* key, int64_t otherwise = 0);
std::string text_in(const json& object, const char* key);
/// The parts that it names.
trace::StepDivision division_in(const json& object, const char* key);

RunEpoch epoch_from(const json& entry);

}  // namespace syrtos::report
