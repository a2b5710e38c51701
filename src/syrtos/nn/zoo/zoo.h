#pragma once

#include <vector>

#include "syrtos/nn/model.h"

namespace syrtos::nn::zoo {

/// A classifier in the middle of a network that only training uses.
struct SideClassifier {
  ValueId logits = graph::kNone;
  float weight = 0;  ///< of its loss
};

struct Heads {
  ValueId logits = graph::kNone;
  std::vector<SideClassifier> sides = {};
};

struct Network {
  ModelInfo info;
  /// Adds the layers from the images on; the options are complete and in range.
  Heads (*build)(Builder& b, ValueId images, const ModelOptions& options);
};

Network mlp();
Network lenet5();
Network mnist_cnn();
Network alexnet();
Network vgg16e();
Network googlenet();
Network squeezenet();
Network resnet18();
Network resnet34();
Network resnet50();
Network resnet18_cifar();
Network resnet56v2();
Network cifar10_fast();
Network signal_cnn();

/// All of them, in the order in which they are listed.
const std::vector<Network>& networks();

}  // namespace syrtos::nn::zoo
