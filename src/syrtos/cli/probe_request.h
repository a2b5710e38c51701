#pragma once

#include <string>

#include "syrtos/base/cpu.h"
#include "syrtos/job/request.h"
#include "syrtos/train/network/probe.h"

namespace syrtos::cli {

/// What is to be measured, as it was typed.
struct ProbeRequest {
  std::string network = "resnet18";
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

/// Throws RequestError.
ProbeWork resolve(const ProbeRequest& request, const CpuInfo& cpu);

}  // namespace syrtos::cli
