// ResNet-56 v2: pre-activation bottlenecks, 9n + 2 layers with n = 6. Convolutions have biases, and
// batch norm the epsilon and momentum of the program that made this variant known.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

constexpr int kBlocks = 6;

ValueId norm_relu(Builder& b, std::string_view name, ValueId x) {
  return b.relu(b.batch_norm(name, x, {.epsilon = 1e-3F, .momentum = 0.01F}));
}

// 1x1, 3x3, 1x1, each behind its batch norm and ReLU; `first`: the stem has done that already.
ValueId block(Builder& b, ValueId x, int64_t width, int64_t out, int64_t stride, bool first) {
  ValueId y = first ? x : norm_relu(b, "bn1", x);
  y = b.conv("conv1", y, {.out = width, .kernel = 1, .stride = stride});
  y = b.conv("conv2", norm_relu(b, "bn2", y), {.out = width, .kernel = 3, .padding = 1});
  y = b.conv("conv3", norm_relu(b, "bn3", y), {.out = out, .kernel = 1});
  if (b.channels(x) != out || stride != 1) {
    x = b.conv("shortcut", x, {.out = out, .kernel = 1, .stride = stride});
  }
  return b.add(x, y);
}

Heads resnet56v2_layers(Builder& b, ValueId x, const ModelOptions& options) {
  x = norm_relu(b, "bn1", b.conv("conv1", x, {.out = 16, .kernel = 3, .padding = 1}));
  int64_t width = 16;
  for (int stage = 0; stage < 3; ++stage) {
    const int64_t out = stage == 0 ? 4 * width : 2 * width;
    for (int n = 0; n < kBlocks; ++n) {
      const auto scope = b.scope(fmt::format("layer{}.{}", stage + 1, n));
      const int64_t stride = stage > 0 && n == 0 ? 2 : 1;
      x = block(b, x, width, out, stride, stage == 0 && n == 0);
    }
    width = out;
  }
  x = b.global_avg_pool(norm_relu(b, "bn", x));
  return {.logits = b.classifier("fc", x, options.classes)};
}

}  // namespace

Network resnet56v2() {
  return {{.name = "resnet56v2",
           .description = "18 pre-activation bottleneck blocks, for small images",
           .source = "He et al. 2016"},
          resnet56v2_layers};
}

}  // namespace syrtos::nn::zoo
