// Convolutions along the last axis only, for signals [channels, 1, samples]. Rows of an image are
// taken as signals of their own.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

ValueId block(Builder& b, ValueId x, int64_t width) {
  x = b.conv("conv", x,
             {.out = width, .kernel = {1, 7}, .padding = Padding::same(), .bias = false});
  x = b.relu(b.batch_norm("bn", x));
  return b.max_pool(x, {.kernel = {1, 2}, .stride = {1, 2}});
}

Heads signal_cnn_layers(Builder& b, ValueId x, const ModelOptions& options) {
  for (const auto& [name, width] : {std::pair{"block1", 32}, {"block2", 64}, {"block3", 128}}) {
    const auto scope = b.scope(name);
    x = block(b, x, width);
  }
  x = b.dropout(b.global_avg_pool(x), 0.2F);
  return {.logits = b.classifier("fc", x, options.classes)};
}

}  // namespace

Network signal_cnn() {
  return {{.name = "signal-cnn",
           .description = "three convolutions of 7 samples, for signals of one row",
           .channels = 1,
           .height = 1,
           .width = 256,
           .source = "after Wang et al. 2017"},
          signal_cnn_layers};
}

}  // namespace syrtos::nn::zoo
