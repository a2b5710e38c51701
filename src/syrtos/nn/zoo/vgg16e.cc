// Configuration E of VGG: sixteen convolutions and three dense layers.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

struct Group {
  int convolutions;
  int64_t channels;
};
constexpr Group kGroups[] = {{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}};

Heads vgg16e_layers(Builder& b, ValueId x, const ModelOptions& options) {
  {
    const auto features = b.scope("features");
    int index = 0;  // counts ReLU and pooling too, as the published weights do
    for (const Group& group : kGroups) {
      for (int i = 0; i < group.convolutions; ++i, index += 2) {
        const auto name = std::to_string(index);
        x = b.relu(b.conv(name, x, {.out = group.channels, .kernel = 3, .padding = 1}));
      }
      x = b.max_pool(x, {.kernel = 2, .stride = 2});
      ++index;
    }
  }
  x = b.flatten(x);

  b.set_kernel_initializer(Initializer::lecun_uniform());
  const auto classifier = b.scope("classifier");
  x = b.dropout(b.relu(b.dense("0", x, 4096)), 0.5F);
  x = b.dropout(b.relu(b.dense("3", x, 4096)), 0.5F);
  return {.logits = b.classifier("6", x, options.classes)};
}

}  // namespace

Network vgg16e() {
  return {{.name = "vgg16e",
           .description = "sixteen 3x3 convolutions, three dense layers, dropout",
           .height = 128,
           .width = 128,
           .classes = 1000,
           .source = "Simonyan, Zisserman 2014, configuration E"},
          vgg16e_layers};
}

}  // namespace syrtos::nn::zoo
