#pragma once

#include <string_view>
#include <vector>

#include "syrtos/nn/network.h"

namespace syrtos::nn {

namespace zoo {

/// What a residual block adds where the number of channels changes: a 1x1 convolution of its input,
/// or the input itself (every second pixel) with channels of zeros behind it.
enum class Shortcut { projection, padded };

Network mlp();
Network lenet5();
Network mnist_cnn();
Network alexnet();
Network alexnet_2col();
Network vgg16e();
Network googlenet();
Network squeezenet();
Network resnet18(Shortcut shortcut = Shortcut::projection);
Network resnet34(Shortcut shortcut = Shortcut::projection);
Network resnet50(Shortcut shortcut = Shortcut::projection);
Network resnet18_cifar(Shortcut shortcut = Shortcut::projection);
Network resnet56v2();
Network cifar10_fast();
Network signal_cnn();
Network redshift_cnn();
Network land_cover();
Network lstm_mnist();
Network char_lstm();

/// All of them, in the order in which they are listed.
const std::vector<Network>& networks();

}  // namespace zoo

/// The network of the zoo that is meant. For the edge alone, where people's words become values.
/// Throws RequestError that names the closest one, or the choices that the network has.
Network find_network(const NetworkReference& reference);
Network find_network(std::string_view text);

}  // namespace syrtos::nn
