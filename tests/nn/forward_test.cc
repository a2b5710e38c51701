// Small networks computed by the operations' references: loss and gradients against differences.
#include <gtest/gtest.h>

#include <algorithm>

#include <cmath>
#include <random>

#include "syrtos/graph/reference.h"
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn {
namespace {

using Values = std::map<ValueId, ops::RefTensor>;

Values starting_values(const Model& model, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Values values;
  const graph::Graph& graph = model.graph;
  ops::RefTensor images(graph.type(model.images).shape);
  for (double& pixel : images.values) pixel = normal(random);
  ops::RefTensor labels(graph.type(model.targets).shape);
  const auto classes = static_cast<unsigned>(graph.type(model.logits).shape[1]);
  for (double& label : labels.values) label = random() % classes;
  values[model.images] = images;
  values[model.targets] = labels;

  std::map<std::string, ValueId> ids;
  for (size_t i = 0; i < graph.values().size(); ++i) {
    ids[graph.values()[i].name] = static_cast<ValueId>(i);
  }
  for (const auto& [name, initializer] : model.initializers) {
    const ValueId id = ids.at(name);
    Tensor tensor({DType::f32, graph.type(id).shape});
    initialize(tensor, initializer, seed, name);
    ops::RefTensor value(tensor.shape());
    for (int64_t i = 0; i < tensor.elements(); ++i) value[i] = tensor.get(i);
    values[id] = value;
  }
  return values;
}

double loss_of(const Model& model, const Values& given) {
  return graph::evaluate_reference(model.graph, given, {.seed = 5, .step = 1}).at(model.loss)[0];
}

struct Case {
  std::string network;
  int64_t channels, side;
};

class SmallNetwork : public testing::TestWithParam<Case> {
 protected:
  Model built() const {
    const Case& c = GetParam();
    return find_network(c.network).build({.batch = 3,
                                          .classes = 4,
                                          .channels = c.channels,
                                          .height = c.side,
                                          .width = c.side,
                                          .task = {.label_smoothing = 0.1F}});
  }
};

TEST_P(SmallNetwork, StartsWithALossNearTheLogarithmOfTheClasses) {
  const Model model = built();
  const double loss = loss_of(model, starting_values(model, 3));
  EXPECT_TRUE(std::isfinite(loss));
  EXPECT_GT(loss, 0.3);
  EXPECT_LT(loss, 5);
}

TEST_P(SmallNetwork, GradientsAreTheDifferencesOfTheLoss) {
  const Model forward = built();
  Model model = built();
  graph::add_gradients(model.graph, model.loss);
  Values given = starting_values(model, 7);
  const Values computed = graph::evaluate_reference(model.graph, given, {.seed = 5, .step = 1});
  ASSERT_EQ(model.graph.gradients().size(),
            model.graph.values_of(graph::ValueKind::parameter).size());

  std::mt19937 random(11);
  const auto& gradients = model.graph.gradients();
  for (int trial = 0; trial < 12; ++trial) {
    const auto& [parameter, gradient] = gradients[random() % gradients.size()];
    ops::RefTensor& tensor = given.at(parameter);
    const auto at = static_cast<int64_t>(random() % tensor.values.size());
    const double value = tensor[at];
    const double found = computed.at(gradient)[at];
    const double tolerance = 1e-6 + 1e-4 * std::abs(found);
    double difference = 0;
    // A wide step may cross the kink of a ReLU, a narrow one rounds: one of them must fit.
    for (const double step : {1e-5, 1e-6, 1e-7, 1e-4}) {
      tensor[at] = value + step;
      const double above = loss_of(forward, given);
      tensor[at] = value - step;
      const double below = loss_of(forward, given);
      difference = (above - below) / (2 * step);
      if (std::abs(difference - found) <= tolerance) break;
    }
    tensor[at] = value;
    EXPECT_NEAR(found, difference, tolerance)
        << model.graph.value(parameter).name << "[" << at << "]";
  }
}

INSTANTIATE_TEST_SUITE_P(Zoo, SmallNetwork,
                         testing::Values(Case{"mlp", 1, 6}, Case{"lenet5", 1, 12},
                                         Case{"mnist-cnn", 2, 8}, Case{"resnet56v2", 3, 4},
                                         Case{"signal-cnn", 1, 8}, Case{"redshift-cnn", 1, 8},
                                         Case{"lstm-mnist", 1, 3},
                                         Case{"resnet18:shortcut=padded", 3, 8}),
                         [](const auto& info) {
                           std::string name = info.param.network;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace syrtos::nn
