// SqueezeNet 1.0.
#include <cmath>

#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

// 1x1 to a few channels, then 1x1 and 3x3 side by side.
ValueId fire(Builder& b, std::string_view name, ValueId x, int64_t squeeze, int64_t expand1,
             int64_t expand3) {
  const auto scope = b.scope(name);
  x = b.relu(b.conv("squeeze", x, {.out = squeeze, .kernel = 1}));
  return b.concat({b.relu(b.conv("expand1x1", x, {.out = expand1, .kernel = 1})),
                   b.relu(b.conv("expand3x3", x, {.out = expand3, .kernel = 3, .padding = 1}))});
}

Heads squeezenet_layers(Builder& b, ValueId x, const ModelOptions& options) {
  const PoolOptions overlapping = {.kernel = 3, .stride = 2, .ceil = true};
  {
    const auto features = b.scope("features");
    x = b.relu(b.conv("0", x, {.out = 96, .kernel = 7, .stride = 2}));
    x = b.max_pool(x, overlapping);
    x = fire(b, "3", x, 16, 64, 64);
    x = fire(b, "4", x, 16, 64, 64);
    x = fire(b, "5", x, 32, 128, 128);
    x = b.max_pool(x, overlapping);
    x = fire(b, "7", x, 32, 128, 128);
    x = fire(b, "8", x, 48, 192, 192);
    x = fire(b, "9", x, 48, 192, 192);
    x = fire(b, "10", x, 64, 256, 256);
    x = b.max_pool(x, overlapping);
    x = fire(b, "12", x, 64, 256, 256);
  }
  const auto classifier = b.scope("classifier");
  x = b.dropout(x, 0.5F);
  const Initializer small = Initializer::uniform(1 / std::sqrt(static_cast<float>(b.channels(x))));
  x = b.relu(b.conv("1", x, {.out = options.classes, .kernel = 1, .init = small}));
  return {.logits = b.global_avg_pool(x)};
}

}  // namespace

Network squeezenet() {
  return {{.name = "squeezenet",
           .description = "eight fire modules, no dense layer",
           .height = 224,
           .width = 224,
           .classes = 1000,
           .source = "Iandola et al. 2016"},
          squeezenet_layers};
}

}  // namespace syrtos::nn::zoo
