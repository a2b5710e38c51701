#pragma once

#include <functional>
#include <string>

#include "syrtos/api/estimate.h"
#include "syrtos/cli/command.h"

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

/// Checks everything before anything is measured. Throws RequestError.
api::Estimate resolve(const EstimateOptions& options, const Context& context);

}  // namespace syrtos::cli
