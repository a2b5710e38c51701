#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "syrtos/graph/graph.h"
#include "syrtos/graph/reference.h"
#include "syrtos/ops/loss.h"

namespace syrtos::test {

using Values = std::map<graph::ValueId, ops::RefTensor>;

/// Numbers for everything that a graph is given. All are different, none is near zero, and the gap
/// between two is wide, so that a small step crosses no kink of ReLU or max pooling. Labels (s32)
/// are below 3, states and parameters whose names say so positive.
inline Values random_values(const graph::Graph& graph, uint32_t seed) {
  std::mt19937 random(seed);
  Values values;
  for (size_t id = 0; id < graph.values().size(); ++id) {
    const graph::Value& value = graph.values()[id];
    if (value.kind == graph::ValueKind::computed) continue;
    ops::RefTensor tensor(value.type.shape);
    const size_t steps = (tensor.values.size() + 1) / 2 * 2;  // even: the grid leaves out zero
    for (size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.values[i] = -1.0 + (2.0 * static_cast<double>(i) + 1.0) / static_cast<double>(steps);
      const bool positive =
          value.kind == graph::ValueKind::state || value.name.starts_with("positive");
      if (positive) tensor.values[i] = 1.5 + 0.5 * tensor.values[i];
      if (value.type.dtype == DType::s32) tensor.values[i] = static_cast<double>(i % 3);
    }
    std::shuffle(tensor.values.begin(), tensor.values.end(), random);
    values.emplace(static_cast<graph::ValueId>(id), std::move(tensor));
  }
  return values;
}

/// The derivative of the loss by one number, by central differences of fourth order.
inline double finite_difference(const graph::Graph& forward, graph::ValueId loss, Values& values,
                                graph::ValueId parameter, int64_t element) {
  constexpr double kStep = 1e-3;
  double& number = values.at(parameter)[element];
  const double centre = number;
  const auto loss_at = [&](double offset) {
    number = centre + offset;
    return graph::evaluate_reference(forward, values).at(loss)[0];
  };
  const double near = loss_at(kStep) - loss_at(-kStep);
  const double far = loss_at(2 * kStep) - loss_at(-2 * kStep);
  number = centre;
  return (8 * near - far) / (12 * kStep);
}

/// Checks the gradient of every element of every parameter of a (forward) graph.
inline void check_gradients(graph::Graph graph, graph::ValueId loss, uint32_t seed = 1) {
  const graph::Graph forward = graph;
  graph::add_gradients(graph, loss);
  ASSERT_EQ(graph.gradients().size(), graph.values_of(graph::ValueKind::parameter).size());
  Values values = random_values(graph, seed);
  const Values result = graph::evaluate_reference(graph, values);
  for (const graph::ParameterGradient& pair : graph.gradients()) {
    const ops::RefTensor& gradient = result.at(pair.gradient);
    double largest = 0;
    for (int64_t i = 0; i < gradient.shape.elements(); ++i) {
      const double expected = finite_difference(forward, loss, values, pair.parameter, i);
      EXPECT_NEAR(gradient[i], expected, 1e-6 * std::fabs(expected) + 1e-9)
          << graph.value(pair.parameter).name << "[" << i << "]";
      largest = std::max(largest, std::fabs(expected));
    }
    EXPECT_GT(largest, 1e-6) << "the check says nothing: all gradients are zero";
  }
}

enum class Role { parameter, positive, input, state, labels };

struct Operand {
  Shape shape;
  Role role = Role::parameter;
};

/// One operation with the shapes of its inputs; those that are parameters are checked. The loss is
/// the result itself where that is one number, else its half squared distance from a target.
struct GradientCase {
  std::string title;
  std::shared_ptr<const ops::Op> op;
  std::vector<Operand> operands;
};

inline graph::ValueId add_operand(graph::Graph& graph, const Operand& operand, size_t index) {
  const std::string name = "operand" + std::to_string(index);
  switch (operand.role) {
    case Role::parameter:
      return graph.add_parameter(name, {DType::f32, operand.shape}, false);
    case Role::positive:
      return graph.add_parameter("positive_" + name, {DType::f32, operand.shape}, false);
    case Role::input:
      return graph.add_input(name, {DType::f32, operand.shape});
    case Role::state:
      return graph.add_state(name, {DType::f32, operand.shape});
    case Role::labels:
      return graph.add_input(name, {DType::s32, operand.shape});
  }
  return graph::kNone;
}

inline void check_gradients(const GradientCase& test) {
  graph::Graph graph;
  std::vector<graph::ValueId> inputs;
  for (size_t i = 0; i < test.operands.size(); ++i) {
    inputs.push_back(add_operand(graph, test.operands[i], i));
  }
  graph::ValueId loss = graph.add(test.op, inputs)[0];
  if (!(graph.type(loss).shape == Shape{1})) {
    const graph::ValueId target = graph.add_input("target", graph.type(loss));
    loss = graph.add_one(std::make_shared<ops::HalfSquaredError>(), {loss, target});
  }
  check_gradients(std::move(graph), loss);
}

}  // namespace syrtos::test
