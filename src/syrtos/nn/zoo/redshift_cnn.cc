// Convolutions along the last axis and a dense layer of all that they find: where a line is counts,
// not only that it is there, so nothing is pooled.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

Heads redshift_cnn_layers(Builder& b, ValueId x, const ModelOptions& options) {
  for (const char* name : {"conv1", "conv2", "conv3"}) {
    x = b.relu(b.conv(name, x, {.out = 16, .kernel = {1, 8}, .padding = Padding::same()}));
  }
  return {.logits = b.classifier("fc", b.flatten(x), options.classes)};
}

}  // namespace

Network redshift_cnn() {
  return {{.name = "redshift-cnn",
           .description = "three convolutions of 8 samples and a dense layer, for spectra",
           .channels = 1,
           .height = 1,
           .width = 256,
           .source = "after Stivaktakis et al. 2018"},
          redshift_cnn_layers};
}

}  // namespace syrtos::nn::zoo
