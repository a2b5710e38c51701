#include "syrtos/nn/zoo/zoo.h"

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/nn/side_by_side.h"

namespace syrtos::nn {

namespace zoo {
namespace {

/// Networks that differ from a listed one by a choice.
const std::vector<Network>& variants() {
  static const std::vector<Network> all = {
      resnet18(Shortcut::padded),
      resnet34(Shortcut::padded),
      resnet50(Shortcut::padded),
      resnet18_cifar(Shortcut::padded),
  };
  return all;
}

}  // namespace

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      mlp(),          lenet5(),         mnist_cnn(),  alexnet(),      alexnet_2col(),
      vgg16e(),       googlenet(),      squeezenet(), resnet18(),     resnet34(),
      resnet50(),     resnet18_cifar(), resnet56v2(), cifar10_fast(), signal_cnn(),
      redshift_cnn(), land_cover(),     lstm_mnist(), char_lstm(),
  };
  return all;
}

}  // namespace zoo

Network find_network(const NetworkReference& reference) {
  if (const int64_t members = members_of(reference); members > 1) {
    return side_by_side(find_network(member_reference(reference)), members);
  }
  std::vector<std::string> names;
  std::vector<std::string> variants;
  for (const Network& network : zoo::networks()) {
    if (network.reference() == reference) return network;
    names.push_back(network.name());
  }
  for (const Network& network : zoo::variants()) {
    if (network.reference() == reference) return network;
    if (network.info().name == reference.name) variants.push_back(network.name());
  }
  if (std::find(names.begin(), names.end(), reference.name) == names.end()) {
    fail_request("unknown network '{}'{}", reference.name, suggestion(reference.name, names));
  }
  if (variants.empty()) {
    fail_request("{} has no choices, found '{}': leave them out", reference.name,
                 to_string(reference));
  }
  variants.push_back(reference.name);
  fail_request("unknown network '{}'{}", to_string(reference),
               suggestion(to_string(reference), variants));
}

Network find_network(std::string_view text) { return find_network(parse_network_reference(text)); }

}  // namespace syrtos::nn
