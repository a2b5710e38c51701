// AlexNet in the single-column widths of Krizhevsky 2014.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

Heads alexnet_layers(Builder& b, ValueId x, const ModelOptions& options) {
  // Smaller than he_normal's: with it, the wide dense layers diverge at the usual learning rates.
  b.set_kernel_initializer(Initializer::lecun_uniform());
  const PoolOptions overlapping = {.kernel = 3, .stride = 2};
  {
    const auto features = b.scope("features");
    x = b.relu(b.conv("0", x, {.out = 64, .kernel = 11, .stride = 4, .padding = 2}));
    x = b.max_pool(x, overlapping);
    x = b.relu(b.conv("3", x, {.out = 192, .kernel = 5, .padding = 2}));
    x = b.max_pool(x, overlapping);
    x = b.relu(b.conv("6", x, {.out = 384, .kernel = 3, .padding = 1}));
    x = b.relu(b.conv("8", x, {.out = 256, .kernel = 3, .padding = 1}));
    x = b.relu(b.conv("10", x, {.out = 256, .kernel = 3, .padding = 1}));
    x = b.max_pool(x, overlapping);
  }
  x = b.flatten(b.adaptive_avg_pool(x, 6));

  const auto classifier = b.scope("classifier");
  x = b.relu(b.dense("1", b.dropout(x, 0.5F), 4096));
  x = b.relu(b.dense("4", b.dropout(x, 0.5F), 4096));
  return {.logits = b.classifier("6", x, options.classes)};
}

}  // namespace

Network alexnet() {
  return {{.name = "alexnet",
           .description = "five convolutions, three dense layers, dropout",
           .height = 224,
           .width = 224,
           .classes = 1000,
           .source = "Krizhevsky et al. 2012, 2014"},
          alexnet_layers};
}

}  // namespace syrtos::nn::zoo
