// The rows of a picture as the steps of a sequence.
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {
namespace {

Heads lstm_mnist_layers(Builder& b, ValueId x, const ModelOptions& options) {
  x = b.recurrent("lstm", x, {.units = 128, .sequence = false});
  return {.logits = b.classifier("fc", x, options.classes)};
}

}  // namespace

Network lstm_mnist() {
  return {{.name = "lstm-mnist",
           .description = "an LSTM of 128 units along the rows of a picture",
           .channels = 1,
           .height = 28,
           .width = 28,
           .source = "Hochreiter, Schmidhuber 1997"},
          lstm_mnist_layers};
}

}  // namespace syrtos::nn::zoo
