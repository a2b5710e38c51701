#pragma once

#include <string>

#include "syrtos/planner/probe_network.h"

namespace syrtos::cli {

/// A table for people; ends with what they should know.
std::string describe(const planner::NetworkProbe& probe);

}  // namespace syrtos::cli
