// A narrow network that learns CIFAR-10 within a few epochs: the first layer is fixed and whitens
// patches of the images; identity kernels, batch norm without scale and GELU do the rest.
#include <cmath>

#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

constexpr float kLogitScale = 1.0F / 9;

ValueId norm_gelu(Builder& b, std::string_view name, ValueId x) {
  // The source's epsilon, 1e-12, would let a channel that is constant in bf16 overflow.
  return b.gelu(b.batch_norm(name, x, {.momentum = 0.4F, .scale = false, .beta_rate = 64}));
}

ValueId group(Builder& b, ValueId x, int64_t width) {
  const ConvOptions conv = {.out = width, .kernel = 3, .padding = Padding::same(), .bias = false};
  x = b.max_pool(b.conv("conv1", x, conv));
  x = norm_gelu(b, "norm1", x);
  return norm_gelu(b, "norm2", b.conv("conv2", x, conv));
}

Heads cifar10_fast_layers(Builder& b, ValueId x, const ModelOptions& options) {
  x = b.gelu(b.conv("whiten", x,
                    {.out = 2 * 2 * 2 * b.channels(x),
                     .kernel = 2,
                     .trainable = false,
                     .init = Initializer::whitening()}));
  b.set_kernel_initializer(Initializer::dirac());
  for (const auto& [name, width] : {std::pair{"group1", 64}, {"group2", 256}, {"group3", 256}}) {
    const auto scope = b.scope(name);
    x = group(b, x, width);
  }
  x = b.flatten(b.max_pool(x, {.kernel = 3, .stride = 3}));
  const float bound = 1 / std::sqrt(static_cast<float>(b.channels(x)));
  x = b.dense("fc", x, options.classes,
              {.bias = false, .f32_output = true, .init = Initializer::uniform(bound)});
  return {.logits = b.scale(x, kLogitScale)};
}

}  // namespace

Network cifar10_fast() {
  return {{.name = "cifar10-fast",
           .description = "whitened patches, six 3x3 convolutions, for a few epochs",
           .source = "Jordan 2024"},
          cifar10_fast_layers};
}

}  // namespace syrtos::nn::zoo
