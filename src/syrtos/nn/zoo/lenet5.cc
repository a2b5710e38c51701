#include <algorithm>

#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

Heads lenet5_layers(Builder& b, ValueId x, const ModelOptions& options) {
  b.set_kernel_initializer(Initializer::glorot_uniform());
  // The paper's digits are 28x28 in a frame that makes them 32x32; smaller images get that frame.
  const int64_t frame = std::min(options.height, options.width) < 32 ? 2 : 0;

  x = b.tanh(b.conv("conv1", x, {.out = 6, .kernel = 5, .padding = frame}));
  x = b.avg_pool(x);
  x = b.tanh(b.conv("conv2", x, {.out = 16, .kernel = 5}));
  x = b.avg_pool(x);

  x = b.flatten(x);
  x = b.tanh(b.dense("fc1", x, 120));
  x = b.tanh(b.dense("fc2", x, 84));
  return {.logits = b.classifier("fc3", x, options.classes)};
}

}  // namespace

Network lenet5() {
  return {{.name = "lenet5",
           .description = "two 5x5 convolutions with tanh, three dense layers",
           .channels = 1,
           .height = 28,
           .width = 28,
           .source = "LeCun et al. 1998"},
          lenet5_layers};
}

}  // namespace syrtos::nn::zoo
