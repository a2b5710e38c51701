#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "syrtos/planner/plan.h"
#include "syrtos/report/plot.h"

namespace syrtos::report {

/// What has to be typed to train in a planned way.
struct PlanCommands {
  std::function<std::string(const planner::Prediction& way)> command_for;
  std::string note = {};  ///< What has to be done before; empty: nothing.
};

/// A plan for people: the verdict, the best way of each kind or, with `top`, so many of the best,
/// what would help.
std::string plan_text(const planner::Plan& plan, const planner::Workload& workload,
                      const planner::ClusterProfile& cluster, const PlanCommands& commands,
                      size_t top);

/// The same for programs. Times in seconds.
nlohmann::json plan_json(const planner::Plan& plan, const planner::Workload& workload,
                         const planner::ClusterProfile& cluster, const PlanCommands& commands);

/// Speed-up over the number of workers: the best few ways with their error bars, the bound that no
/// way passes, and the closed formula of the best one.
Chart plan_chart(const planner::Plan& plan, const planner::Workload& workload,
                 const planner::ClusterProfile& cluster);

/// "4 hosts at 940 Mbit/s, 62 us".
std::string cluster_text(const planner::ClusterProfile& cluster);

}  // namespace syrtos::report
