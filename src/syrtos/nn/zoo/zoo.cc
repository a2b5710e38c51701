#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn::zoo {

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      mlp(),          lenet5(),     mnist_cnn(), alexnet(),  vgg16e(),         googlenet(),
      squeezenet(),   resnet18(),   resnet34(),  resnet50(), resnet18_cifar(), resnet56v2(),
      cifar10_fast(), signal_cnn(),
  };
  return all;
}

}  // namespace syrtos::nn::zoo
