#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "syrtos/api/surroundings.h"
#include "syrtos/job/request.h"
#include "syrtos/train/network/probe.h"

namespace syrtos::api {

/// What is to be measured, as people write it.
struct ProbeRequest {
  std::string network = "resnet18";
  std::optional<nn::Network> own = {};  ///< That the caller brings along instead.
  int64_t batch = 42;
  std::string input = "auto";
  int64_t classes = job::kUnset;  ///< Unset: the network's own.
  std::string precision = "auto";
  int64_t threads = 0;  ///< 0: all cores.
  double seconds = 3;
  bool profile = false;
};

/// A network and how it is measured.
struct ProbeWork {
  nn::Network network;
  train::ProbeOptions options;
};

/// What is left open, precision or threads, is what computes it fastest here. Throws RequestError.
ProbeWork resolve(const ProbeRequest& request, const Surroundings& surroundings);

/// What was measured, for programs.
nlohmann::json to_json(const train::ProbeResult& result);

}  // namespace syrtos::api
