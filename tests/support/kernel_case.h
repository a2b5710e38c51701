#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <tuple>

#include "syrtos/graph/passes.h"
#include "syrtos/ops/cast.h"
#include "syrtos/ops/loss.h"
#include "tests/support/program_check.h"

namespace syrtos::test {

using graph::ValueId;

/// What a case builds its operation with.
struct Context {
  graph::Graph graph;
  DType dtype;

  // Weights of convolutions and products: f32 gradients, whatever their type.
  ValueId weights(const char* name, Shape shape) {
    return graph.add_parameter(name, {dtype, shape}, true);
  }
  // Activations are parameters in these tests, so that their gradients can be seen.
  ValueId parameter(const char* name, Shape shape) {
    const ValueId value = f32_parameter(name, shape);
    return dtype == DType::f32 ? value : add(ops::Cast(dtype), {value});
  }
  ValueId f32_parameter(const char* name, Shape shape) {
    return graph.add_parameter(name, {DType::f32, shape}, false);
  }
  template <typename Op>
  ValueId add(Op op, std::initializer_list<ValueId> inputs) {
    return graph.add_one(std::make_shared<Op>(std::move(op)), inputs);
  }
};

/// One operation on parameters.
struct Case {
  std::string name;
  std::function<ValueId(Context&)> build;
};

/// The case with a loss, the half squared error of its result against a target of the same type.
inline graph::Graph build(const Case& test, DType dtype) {
  Context context{{}, dtype};
  const ValueId result = test.build(context);
  const TensorType type = context.graph.type(result);
  const ValueId target = context.graph.add_input("target", type);
  const ValueId loss = context.add(ops::HalfSquaredError(), {result, target});
  context.graph.set_output("result", result);
  context.graph.set_output("loss", loss);
  graph::add_gradients(context.graph, loss);
  return std::move(context.graph);
}

/// Result and gradients against the naive references, in both types, fused and not.
inline void expect_case_matches(const Case& test, DType dtype, bool fused) {
  graph::Graph g = build(test, dtype);
  if (fused) graph::optimise(g);
  expect_matches_reference(g, dtype == DType::f32 ? 1e-5 : 3e-2);
}

inline std::string case_name(const testing::TestParamInfo<std::tuple<Case, DType, bool>>& info) {
  const auto& [test, dtype, fused] = info.param;
  return test.name + "_" + to_string(dtype) + (fused ? "_fused" : "");
}

}  // namespace syrtos::test
