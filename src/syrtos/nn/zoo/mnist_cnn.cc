#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

Heads mnist_cnn_layers(Builder& b, ValueId x, const ModelOptions& options) {
  b.set_kernel_initializer(Initializer::glorot_uniform());
  x = b.relu(b.conv("conv1", x, {.out = 32, .kernel = 3}));
  x = b.relu(b.conv("conv2", x, {.out = 64, .kernel = 3}));
  x = b.dropout(b.max_pool(x), 0.25F);

  x = b.flatten(x);
  x = b.dropout(b.relu(b.dense("fc1", x, 128)), 0.5F);
  return {.logits = b.classifier("fc2", x, options.classes)};
}

}  // namespace

Network mnist_cnn() {
  return {{.name = "mnist-cnn",
           .description = "two 3x3 convolutions, max pool, two dense layers, dropout",
           .channels = 1,
           .height = 28,
           .width = 28,
           .source = "Keras examples 2015"},
          mnist_cnn_layers};
}

}  // namespace syrtos::nn::zoo
