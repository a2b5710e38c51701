#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/planner/probe_network.h"

namespace syrtos::cli {

/// What 'syrtos probe network --json' prints, and how rank 0 tells the launcher: seconds and bytes.
nlohmann::json to_json(const planner::NetworkProbe& probe);
/// The way back. Throws nlohmann::json::exception.
planner::NetworkProbe network_probe_of(const nlohmann::json& json);

/// A table for people; ends with what they should know.
std::string describe(const planner::NetworkProbe& probe);

}  // namespace syrtos::cli
