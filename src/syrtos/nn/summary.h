#pragma once

#include <string>
#include <vector>

#include "syrtos/nn/network.h"

namespace syrtos::nn {

/// One layer of a network: operations that stand together under one name.
struct LayerSummary {
  std::string name;       ///< "layer1.0.conv1"
  std::string operation;  ///< "conv"
  Shape output = {};      ///< of one image
  int64_t parameters = 0;
  int64_t multiply_adds = 0;  ///< of one image
};

struct ModelSummary {
  std::string name;
  Shape input;  ///< of one image
  int64_t classes = 0;
  int64_t parameters = 0;
  int64_t multiply_adds = 0;
  std::vector<LayerSummary> layers;
};

ModelSummary summarize(const Model& model);

/// Networks at their default input: name, parameters, multiply-adds, input, what each is.
std::string models_table(const std::vector<Network>& networks);
/// One network, layer by layer.
std::string model_table(const Network& network, const ModelOptions& options);

}  // namespace syrtos::nn
