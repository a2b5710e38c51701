#pragma once

#include <filesystem>
#include <string>

#include "syrtos/cli/command.h"
#include "syrtos/train/predict.h"

namespace syrtos::cli {

/// A trained network, as eval and predict are asked for it.
struct LoadRequest {
  std::filesystem::path checkpoint;  ///< A file or a run directory.
  std::string data;                  ///< Empty: what the network was trained on.
  std::string precision = "auto";
  int64_t threads = 0;  ///< 0: all cores.
  int64_t batch = 64;
  std::string views = "none";
};

/// Finds the network that the checkpoint refers to and loads it. Throws RequestError.
train::Predictor load(const LoadRequest& request, const Context& context);

}  // namespace syrtos::cli
