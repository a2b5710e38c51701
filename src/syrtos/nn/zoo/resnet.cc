// ResNet-18, -34 and -50, and ResNet-18 for small images. Downsampling stands on the 3x3
// convolution of a bottleneck, not on its first 1x1 ("version 1.5").
#include <array>

#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

struct Table {
  bool small_stem = false;
  bool bottlenecks = false;
  std::array<int, 4> blocks;  ///< Of conv2_x to conv5_x.
  Shortcut shortcut = Shortcut::projection;
};

ValueId shortcut(Builder& b, ValueId x, int64_t out, int64_t stride, Shortcut kind) {
  if (stride == 1 && b.channels(x) == out) return x;
  if (kind == Shortcut::padded) return b.pad_channels(b.subsample(x, stride), out);
  const auto scope = b.scope("downsample");
  x = b.conv("0", x, {.out = out, .kernel = 1, .stride = stride, .bias = false});
  return b.batch_norm("1", x);
}

// 3x3, 3x3
ValueId basic(Builder& b, ValueId x, int64_t width, int64_t stride, Shortcut kind) {
  const ValueId input = x;
  x = b.conv("conv1", x,
             {.out = width, .kernel = 3, .stride = stride, .padding = 1, .bias = false});
  x = b.relu(b.batch_norm("bn1", x));
  x = b.conv("conv2", x, {.out = width, .kernel = 3, .padding = 1, .bias = false});
  x = b.batch_norm("bn2", x);
  return b.relu(b.add(x, shortcut(b, input, width, stride, kind)));
}

// 1x1, 3x3, 1x1 to four times the width
ValueId bottleneck(Builder& b, ValueId x, int64_t width, int64_t stride, Shortcut kind) {
  const ValueId input = x;
  x = b.conv("conv1", x, {.out = width, .kernel = 1, .bias = false});
  x = b.relu(b.batch_norm("bn1", x));
  x = b.conv("conv2", x,
             {.out = width, .kernel = 3, .stride = stride, .padding = 1, .bias = false});
  x = b.relu(b.batch_norm("bn2", x));
  x = b.conv("conv3", x, {.out = 4 * width, .kernel = 1, .bias = false});
  x = b.batch_norm("bn3", x);
  return b.relu(b.add(x, shortcut(b, input, 4 * width, stride, kind)));
}

ValueId stem(Builder& b, ValueId x, bool small) {
  if (small) {
    x = b.conv("conv1", x, {.out = 64, .kernel = 3, .padding = 1, .bias = false});
    return b.relu(b.batch_norm("bn1", x));
  }
  x = b.conv("conv1", x, {.out = 64, .kernel = 7, .stride = 2, .padding = 3, .bias = false});
  x = b.relu(b.batch_norm("bn1", x));
  return b.max_pool(x, {.kernel = 3, .stride = 2, .padding = 1});
}

Heads residual(Builder& b, ValueId x, int64_t classes, const Table& table) {
  x = stem(b, x, table.small_stem);
  int64_t width = 64;
  for (size_t stage = 0; stage < table.blocks.size(); ++stage, width *= 2) {
    for (int block = 0; block < table.blocks[stage]; ++block) {
      const auto scope = b.scope(fmt::format("layer{}.{}", stage + 1, block));
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      x = table.bottlenecks ? bottleneck(b, x, width, stride, table.shortcut)
                            : basic(b, x, width, stride, table.shortcut);
    }
  }
  x = b.global_avg_pool(x);
  return {.logits = b.classifier("fc", x, classes)};
}

Network network(const char* name, const char* description, int64_t side, int64_t classes,
                const Table& table) {
  NetworkInfo info = {.name = name,
                      .description = description,
                      .height = side,
                      .width = side,
                      .classes = classes,
                      .source = "He et al. 2015"};
  if (table.shortcut == Shortcut::padded) info.choices = {{"shortcut", "padded"}};
  return {info, [table](Builder& b, ValueId images, const ModelOptions& options) {
            return residual(b, images, options.classes, table);
          }};
}

}  // namespace

Network resnet18(Shortcut shortcut) {
  return network("resnet18", "8 residual blocks of two 3x3 convolutions", 224, 1000,
                 {.blocks = {2, 2, 2, 2}, .shortcut = shortcut});
}
Network resnet34(Shortcut shortcut) {
  return network("resnet34", "16 residual blocks of two 3x3 convolutions", 224, 1000,
                 {.blocks = {3, 4, 6, 3}, .shortcut = shortcut});
}
Network resnet50(Shortcut shortcut) {
  return network("resnet50", "16 bottleneck blocks of 1x1, 3x3, 1x1", 224, 1000,
                 {.bottlenecks = true, .blocks = {3, 4, 6, 3}, .shortcut = shortcut});
}
Network resnet18_cifar(Shortcut shortcut) {
  return network("resnet18-cifar", "ResNet-18 for small images: 3x3 stem, no max pool", 32, 10,
                 {.small_stem = true, .blocks = {2, 2, 2, 2}, .shortcut = shortcut});
}

}  // namespace syrtos::nn::zoo
