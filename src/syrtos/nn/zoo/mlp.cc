#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

Heads mlp_layers(Builder& b, ValueId x, const ModelOptions& options) {
  x = b.flatten(x);
  x = b.relu(b.dense("fc1", x, 512));
  x = b.relu(b.dense("fc2", x, 512));
  return {.logits = b.classifier("fc3", x, options.classes)};
}

}  // namespace

Network mlp() {
  return {{.name = "mlp",
           .description = "three dense layers, the hidden ones of 512 units",
           .channels = 1,
           .height = 28,
           .width = 28,
           .source = "Rumelhart, Hinton, Williams 1986"},
          mlp_layers};
}

}  // namespace syrtos::nn::zoo
