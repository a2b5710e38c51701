#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "syrtos/api/surroundings.h"
#include "syrtos/nn/network.h"
#include "syrtos/train/network/predict.h"

namespace syrtos::api {

/// Which trained network, and how it is run.
struct LoadRequest {
  std::filesystem::path checkpoint;         ///< A file or a run directory.
  std::optional<nn::Network> network = {};  ///< None: the one that the checkpoint names.
  std::string data = {};                    ///< Empty: what the network was trained on.
  std::string precision = "auto";           ///< auto: what it was trained in, where the CPU has it.
  int64_t threads = 0;                      ///< 0: all cores.
  int64_t batch = 64;
  std::string views = "none";
};

/// A trained network, ready to predict and to be evaluated. Throws RequestError.
train::Predictor load(const LoadRequest& request, const Surroundings& surroundings);

/// Measures a trained network on test data.
train::Evaluation evaluate(const LoadRequest& request, const Surroundings& surroundings = {});

}  // namespace syrtos::api
