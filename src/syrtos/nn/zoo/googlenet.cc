// GoogLeNet as in its paper: local response norm, biases, no batch norm, real 5x5 convolutions, and
// two side classifiers that bring gradients to the middle of the network.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

constexpr float kSideWeight = 0.3F;

struct Widths {
  int64_t one;
  int64_t reduce3, three;
  int64_t reduce5, five;
  int64_t pool;
};

ValueId conv_relu(Builder& b, std::string_view name, ValueId x, const ConvOptions& options) {
  return b.relu(b.conv(name, x, options));
}

// Four branches side by side: 1x1; 1x1 and 3x3; 1x1 and 5x5; max pool and 1x1.
ValueId inception(Builder& b, std::string_view name, ValueId x, const Widths& w) {
  const auto scope = b.scope(name);
  const ValueId one = conv_relu(b, "branch1", x, {.out = w.one, .kernel = 1});
  ValueId three = conv_relu(b, "branch2.0", x, {.out = w.reduce3, .kernel = 1});
  three = conv_relu(b, "branch2.1", three, {.out = w.three, .kernel = 3, .padding = 1});
  ValueId five = conv_relu(b, "branch3.0", x, {.out = w.reduce5, .kernel = 1});
  five = conv_relu(b, "branch3.1", five, {.out = w.five, .kernel = 5, .padding = 2});
  ValueId pool = b.max_pool(x, {.kernel = 3, .stride = 1, .padding = 1});
  pool = conv_relu(b, "branch4.1", pool, {.out = w.pool, .kernel = 1});
  return b.concat({one, three, five, pool});
}

ValueId side(Builder& b, std::string_view name, ValueId x, int64_t classes) {
  const auto scope = b.scope(name);
  x = b.avg_pool(x, {.kernel = 5, .stride = 3});
  x = conv_relu(b, "conv", x, {.out = 128, .kernel = 1});
  x = b.relu(b.dense("fc1", b.flatten(x), 1024));
  return b.classifier("fc2", b.dropout(x, 0.7F), classes);
}

Heads googlenet_layers(Builder& b, ValueId x, const ModelOptions& options) {
  const PoolOptions halve = {.kernel = 3, .stride = 2, .ceil = true};
  Heads heads;
  const auto add_side = [&](std::string_view name) {
    if (b.training()) heads.sides.push_back({side(b, name, x, options.classes), kSideWeight});
  };

  x = conv_relu(b, "conv1", x, {.out = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = b.lrn(b.max_pool(x, halve));
  x = conv_relu(b, "conv2", x, {.out = 64, .kernel = 1});
  x = conv_relu(b, "conv3", x, {.out = 192, .kernel = 3, .padding = 1});
  x = b.max_pool(b.lrn(x), halve);

  x = inception(b, "inception3a", x, {64, 96, 128, 16, 32, 32});
  x = inception(b, "inception3b", x, {128, 128, 192, 32, 96, 64});
  x = b.max_pool(x, halve);
  x = inception(b, "inception4a", x, {192, 96, 208, 16, 48, 64});
  add_side("aux1");
  x = inception(b, "inception4b", x, {160, 112, 224, 24, 64, 64});
  x = inception(b, "inception4c", x, {128, 128, 256, 24, 64, 64});
  x = inception(b, "inception4d", x, {112, 144, 288, 32, 64, 64});
  add_side("aux2");
  x = inception(b, "inception4e", x, {256, 160, 320, 32, 128, 128});
  x = b.max_pool(x, halve);
  x = inception(b, "inception5a", x, {256, 160, 320, 32, 128, 128});
  x = inception(b, "inception5b", x, {384, 192, 384, 48, 128, 128});

  x = b.dropout(b.global_avg_pool(x), 0.4F);
  heads.logits = b.classifier("fc", x, options.classes);
  return heads;
}

}  // namespace

Network googlenet() {
  return {{.name = "googlenet",
           .description = "nine inception modules, two side classifiers in training",
           .height = 224,
           .width = 224,
           .classes = 1000,
           .source = "Szegedy et al. 2014"},
          googlenet_layers};
}

}  // namespace syrtos::nn::zoo
