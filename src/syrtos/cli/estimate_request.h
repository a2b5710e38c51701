#pragma once

#include <functional>
#include <string>

#include "syrtos/api/probe.h"
#include "syrtos/cli/command.h"
#include "syrtos/planner/formulas.h"

namespace syrtos::cli {

/// As they were typed: errors name the option and what was found.
struct EstimateOptions {
  std::string t_grad, t_comm;
  std::string type = "sync-join";
  std::string server = "central";
  std::string workers = "8";
  std::string batches = "128";
  std::string output = "single";
  std::string to;
  bool bounds = false;
  bool json = false;
  api::ProbeRequest probe = {.network = ""};
  std::string bandwidth = "1 Gbit/s";
  std::function<bool(const char*)> given;  ///< whether an option was
};

/// What is asked for, checked.
struct EstimateRequest {
  planner::EstimateType type;
  planner::ServerKind server;
  planner::EstimateInput input;
  std::string source;  ///< where the times come from; empty: they were given
  bool bounds = false;

  planner::Bounds speed_up(int64_t workers) const {
    planner::EstimateInput at = input;
    at.workers = workers;
    return planner::speed_up(type, server, at);
  }
};

/// Checks everything before anything is measured. Throws RequestError.
EstimateRequest resolve(const EstimateOptions& options, const Context& context);

}  // namespace syrtos::cli
