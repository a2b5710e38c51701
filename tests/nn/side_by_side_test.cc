#include "syrtos/nn/side_by_side.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "syrtos/base/error.h"
#include "syrtos/graph/reference.h"
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kMembers = 3;
constexpr uint64_t kSeed = 5;

ModelOptions small(const Network& network) {
  ModelOptions options = network.default_options();
  options.batch = 2;
  options.classes = 4;
  options.training = false;
  return options;
}

ops::RefTensor tensor_of(const Shape& shape, std::vector<double> values) {
  ops::RefTensor tensor(shape);
  tensor.values = std::move(values);
  return tensor;
}

/// The values with which a model starts.
std::map<ValueId, ops::RefTensor> starting_values(const Model& model, uint64_t seed) {
  std::map<ValueId, ops::RefTensor> values;
  for (const auto& [name, initializer] : model.initializers) {
    const ValueId id = model.graph.find(name);
    Tensor tensor({DType::f32, model.graph.type(id).shape});
    initialize(tensor, initializer, seed, name);
    const std::vector<float> floats = tensor.to_vector();
    values[id] = tensor_of(tensor.shape(), {floats.begin(), floats.end()});
  }
  return values;
}

std::vector<double> probabilities(const Model& model, std::map<ValueId, ops::RefTensor> values,
                                  int64_t classes) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  ops::RefTensor images(model.graph.type(model.images).shape);
  for (double& value : images.values) value = normal(random);
  values[model.images] = images;
  values[model.targets] = tensor_of(model.graph.type(model.targets).shape, {0, 1});
  std::vector<double> rows =
      graph::evaluate_reference(model.graph, values, {}).at(model.logits).values;
  for (size_t at = 0; at < rows.size(); at += static_cast<size_t>(classes)) {
    double sum = 0;
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(rows[at + static_cast<size_t>(k)]);
    for (int64_t k = 0; k < classes; ++k) {
      double& value = rows[at + static_cast<size_t>(k)];
      value = std::exp(value) / sum;
    }
  }
  return rows;
}

class SideBySide : public testing::TestWithParam<std::string> {};

TEST_P(SideBySide, IsTheMeanOfNetworksThatStartFromSeedsOfTheirOwn) {
  const Network network = find_network(GetParam());
  const ModelOptions options = small(network);
  const Model alone = network.build(options);
  std::vector<double> mean;
  for (int64_t m = 0; m < kMembers; ++m) {
    const std::vector<double> own = probabilities(
        alone, starting_values(alone, kSeed + static_cast<uint64_t>(m)), options.classes);
    mean.resize(own.size());
    for (size_t i = 0; i < own.size(); ++i) mean[i] += own[i] / kMembers;
  }
  const Model all = side_by_side(network, kMembers).build(options);
  const std::vector<double> found =
      probabilities(all, starting_values(all, kSeed), options.classes);
  ASSERT_EQ(found.size(), mean.size());
  for (size_t i = 0; i < mean.size(); ++i) EXPECT_NEAR(found[i], mean[i], 1e-9) << i;
  EXPECT_EQ(parameter_count(all.graph), kMembers * parameter_count(alone.graph));
}

// Convolutions, dense layers, batch norm, shortcuts, joined channels.
INSTANTIATE_TEST_SUITE_P(Networks, SideBySide,
                         testing::Values("lenet5", "mlp", "mnist-cnn", "signal-cnn",
                                         "resnet18-cifar", "squeezenet"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(SideBySideNetworks, AreFoundByTheirName) {
  const Network network = find_network("lenet5:members=8");
  EXPECT_EQ(network.name(), "lenet5:members=8");
  EXPECT_EQ(members_of(network.reference()), 8);
  EXPECT_EQ(to_string(member_reference(network.reference())), "lenet5");
  EXPECT_THAT([] { find_network("lenet5:members=many"); },
              ThrowsMessage<RequestError>(HasSubstr("whole number of members, found 'many'")));
  EXPECT_THAT([] { find_network("lenet5:members=65"); },
              ThrowsMessage<RequestError>(HasSubstr("1 to 64 members")));
}

TEST(SideBySideNetworks, ThatWouldMixAreRefused) {
  for (const char* name : {"googlenet", "lstm-mnist", "char-lstm", "resnet18:shortcut=padded"}) {
    const Network network = side_by_side(find_network(name), 2);
    ModelOptions options = network.default_options();
    EXPECT_THAT([&] { network.build(options); },
                ThrowsMessage<RequestError>(HasSubstr("side by side")))
        << name;
  }
}

}  // namespace
}  // namespace syrtos::nn
