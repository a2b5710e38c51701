// AlexNet as it was first trained: two columns, each on a device of its own, which see each other's
// maps in the third convolution and in the dense layers alone. `--split branches` puts each column
// on a worker.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

constexpr const char* kColumns[] = {"a", "b"};

ValueId overlapping_pool(Builder& b, ValueId x) {
  return b.max_pool(x, {.kernel = 3, .stride = 2});
}

/// Of one column, from the images to what the third convolution sees.
ValueId first_maps(Builder& b, ValueId x) {
  x = b.relu(b.conv("conv1", x, {.out = 48, .kernel = 11, .stride = 4, .padding = 2}));
  x = overlapping_pool(b, b.lrn(x, 5, 1e-4F, 0.75F, 2));
  x = b.relu(b.conv("conv2", x, {.out = 128, .kernel = 5, .padding = 2}));
  return overlapping_pool(b, b.lrn(x, 5, 1e-4F, 0.75F, 2));
}

/// From the maps of both columns to those of one at the end of the convolutions.
ValueId last_maps(Builder& b, ValueId both) {
  ValueId x = b.relu(b.conv("conv3", both, {.out = 192, .kernel = 3, .padding = 1}));
  x = b.relu(b.conv("conv4", x, {.out = 192, .kernel = 3, .padding = 1}));
  x = b.relu(b.conv("conv5", x, {.out = 128, .kernel = 3, .padding = 1}));
  return b.flatten(b.adaptive_avg_pool(overlapping_pool(b, x), 6));
}

ValueId dense_layer(Builder& b, const char* name, ValueId both) {
  return b.relu(b.dense(name, b.dropout(both, 0.5F), 2048));
}

Heads alexnet_2col_layers(Builder& b, ValueId x, const ModelOptions& options) {
  b.set_kernel_initializer(Initializer::lecun_uniform());  // as alexnet, and for the same reason
  const auto in_columns = [&](const auto& of_one) {
    std::vector<ValueId> made;
    for (const char* column : kColumns) {
      const auto scope = b.scope(column);
      made.push_back(of_one());
    }
    return b.concat(made);
  };
  ValueId both = in_columns([&] { return first_maps(b, x); });
  both = in_columns([&] { return last_maps(b, both); });
  both = in_columns([&] { return dense_layer(b, "fc6", both); });
  both = in_columns([&] { return dense_layer(b, "fc7", both); });
  return {.logits = b.classifier("fc8", both, options.classes)};
}

}  // namespace

Network alexnet_2col() {
  return {{.name = "alexnet-2col",
           .description = "AlexNet in its original two columns, for two workers",
           .height = 224,
           .width = 224,
           .classes = 1000,
           .source = "Krizhevsky et al. 2012"},
          alexnet_2col_layers};
}

}  // namespace syrtos::nn::zoo
