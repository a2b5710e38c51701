#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/planner/plan.h"

namespace syrtos::report {

/// A plan for people: the verdict, the table of the best ways, what would help. `command` is what
/// its options are added to: "syrtos train job.toml".
std::string plan_text(const planner::Plan& plan, const planner::Workload& workload,
                      const planner::ClusterProfile& cluster, const std::string& command,
                      size_t rows);

/// The same for programs. Times in seconds.
nlohmann::json plan_json(const planner::Plan& plan, const planner::Workload& workload,
                         const planner::ClusterProfile& cluster, const std::string& command);

/// "4 hosts at 940 Mbit/s, 62 us".
std::string cluster_text(const planner::ClusterProfile& cluster);

}  // namespace syrtos::report
