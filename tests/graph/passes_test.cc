// Pruning, common sub-expressions, constants; printing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "syrtos/graph/passes.h"
#include "syrtos/graph/print.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/reshape.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {
namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;
using testing::ElementsAre;
using testing::HasSubstr;

TensorType f32(Shape shape) { return {DType::f32, shape}; }

std::shared_ptr<ops::Activation> relu() {
  return std::make_shared<ops::Activation>(ops::ActivationKind::relu);
}

ValueId constant(Graph& graph, Shape shape, float value) {
  auto op = std::make_shared<ops::Constant>();
  op->type = f32(shape);
  op->value = value;
  return graph.add_one(op, {});
}

std::vector<std::string> operations(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.emplace_back(node.op->name());
  return names;
}

double output_of(const Graph& graph, const std::string& name, const Values& values) {
  return graph::evaluate_reference(graph, values).at(graph.find(name))[0];
}

TEST(Prune, DropsWhatNobodyNeeds) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId used = graph.add_one(relu(), {x});
  const ValueId unused = graph.add_one(std::make_shared<ops::Scale>(2.0F), {used});
  graph.add_one(relu(), {unused});
  graph.set_output("y", used);
  graph::prune(graph);
  EXPECT_THAT(operations(graph), ElementsAre("relu"));
}

TEST(Prune, KeepsNodesOfWhichOneOutputIsUsed) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4, 4}));
  const auto outputs = graph.add(pool(ops::PoolKind::max, window_2d(2, 2)), std::vector{x});
  graph.set_output("position", outputs[1]);
  graph::prune(graph);
  EXPECT_THAT(operations(graph), ElementsAre("max_pool"));
}

TEST(Prune, DropsTheGradientOfTheInput) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3, 4, 4}));
  const ValueId w = graph.add_parameter("w", f32({2, 3, 3, 3}), true);
  const ValueId y = graph.add_one(conv(window_2d(3)), {x, w});
  const ValueId loss = graph.add_one(reduce(false, {0, 1, 2, 3}), {y});
  graph::add_gradients(graph, loss);
  EXPECT_THAT(operations(graph), testing::Contains("conv.backward_data"));
  graph::prune(graph);
  EXPECT_THAT(operations(graph), ElementsAre("constant", "broadcast", "conv.backward_weights"));
}

TEST(CommonSubexpressions, AreComputedOnce) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId a = graph.add_one(relu(), {graph.add_one(std::make_shared<ops::Scale>(2.0F), {x})});
  const ValueId b = graph.add_one(relu(), {graph.add_one(std::make_shared<ops::Scale>(2.0F), {x})});
  const ValueId c = graph.add_one(std::make_shared<ops::Scale>(3.0F), {x});
  graph.set_output("y", graph.add_one(std::make_shared<ops::Add>(), {a, b, c}));
  const Values values = random_values(graph, 1);
  const double before = output_of(graph, "y", values);
  graph::eliminate_common_subexpressions(graph);
  EXPECT_THAT(operations(graph), ElementsAre("scale", "relu", "scale", "add"));
  EXPECT_EQ(output_of(graph, "y", values), before);
}

TEST(CommonSubexpressions, KeepOutputsByName) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  graph.set_output("a", graph.add_one(relu(), {x}));
  graph.set_output("b", graph.add_one(relu(), {x}));
  graph::eliminate_common_subexpressions(graph);
  EXPECT_THAT(operations(graph), ElementsAre("relu"));
  EXPECT_EQ(graph.find("a"), graph.find("b"));
}

TEST(CommonSubexpressions, LeaveBatchNormsApart) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({4, 3}));
  const ValueId gamma = graph.add_parameter("gamma", f32({3}), false);
  const ValueId mean = graph.add_state("mean", f32({3}));
  const ValueId first = graph.add_one(batch_norm(), {x, gamma, gamma, mean, mean});
  const ValueId second = graph.add_one(batch_norm(), {x, gamma, gamma, mean, mean});
  graph.set_output("y", graph.add_one(std::make_shared<ops::Add>(), {first, second}));
  graph::eliminate_common_subexpressions(graph);
  EXPECT_THAT(operations(graph), ElementsAre("batch_norm", "batch_norm", "add"));
}

TEST(CommonSubexpressions, LeaveGradientsOfDifferentParametersApart) {
  Graph graph;
  ValueId y = graph.add_input("x", f32({4, 3}));
  for (const char* name : {"b1", "b2"}) {
    const ValueId bias = graph.add_parameter(name, f32({3}), false);
    y = graph.add_one(std::make_shared<ops::BiasAdd>(), {y, bias});
  }
  graph::add_gradients(graph, graph.add_one(reduce(false, {0, 1}), {y}));
  graph::eliminate_common_subexpressions(graph);
  ASSERT_EQ(graph.gradients().size(), 2U);
  EXPECT_NE(graph.gradients()[0].gradient, graph.gradients()[1].gradient);
}

TEST(Constants, Fold) {
  Graph graph;
  ValueId c = constant(graph, {1}, 3);
  c = graph.add_one(std::make_shared<ops::Scale>(0.5F), {c});        // 1.5
  c = graph.add_one(broadcast({2, 4}, {0, 1}, 2), {c});              // 3
  c = graph.add_one(std::make_shared<ops::Reshape>(Shape{8}), {c});  // 3
  c = graph.add_one(std::make_shared<ops::Multiply>(), {c, c});      // 9
  c = graph.add_one(std::make_shared<ops::Add>(), {c, c});           // 18
  c = graph.add_one(reduce(false, {0}), {c});                        // 144
  c = graph.add_one(std::make_shared<ops::ScaleBy>(), {c, constant(graph, {1}, 0.5F)});
  graph.set_output("c", c);
  graph::fold_constants(graph);
  graph::prune(graph);
  ASSERT_THAT(operations(graph), ElementsAre("constant"));
  EXPECT_EQ(output_of(graph, "c", {}), 72);
}

TEST(Constants, VanishWhereTheyChangeNothing) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  ValueId y = graph.add_one(relu(), {x});
  y = graph.add_one(std::make_shared<ops::Scale>(1.0F), {y});
  y = graph.add_one(std::make_shared<ops::Reshape>(Shape{2, 3}), {y});
  y = graph.add_one(std::make_shared<ops::Add>(), {constant(graph, {2, 3}, 0), y});
  graph.set_output("y", y);
  graph::fold_constants(graph);
  graph::prune(graph);
  EXPECT_THAT(operations(graph), ElementsAre("relu"));
}

TEST(Constants, StayWhereAnInputWouldBecomeAnOutput) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  graph.set_output("y", graph.add_one(std::make_shared<ops::Scale>(1.0F), {x}));
  graph::fold_constants(graph);
  EXPECT_THAT(operations(graph), ElementsAre("scale"));
}

TEST(Constants, JoinScales) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  ValueId y = graph.add_one(std::make_shared<ops::Scale>(0.5F), {x});
  y = graph.add_one(std::make_shared<ops::Scale>(4.0F), {y});
  y = graph.add_one(std::make_shared<ops::ScaleBy>(), {y, constant(graph, {1}, 2)});
  graph.set_output("y", y);
  const Values values = random_values(graph, 1);
  const double before = output_of(graph, "y", values);
  graph::fold_constants(graph);
  graph::prune(graph);
  EXPECT_THAT(operations(graph), ElementsAre("scale"));
  EXPECT_EQ(output_of(graph, "y", values), before);
}

TEST(Constants, GradientsOfDifferentParametersStayApart) {
  Graph graph;
  const ValueId a = graph.add_parameter("a", f32({3}), true);
  const ValueId b = graph.add_parameter("b", f32({3}), true);
  const ValueId sum = graph.add_one(std::make_shared<ops::Add>(), {a, b});
  const ValueId target = graph.add_input("target", f32({3}));
  const ValueId loss = graph.add_one(std::make_shared<ops::HalfSquaredError>(), {sum, target});
  graph::add_gradients(graph, loss);
  graph::optimise(graph);
  ASSERT_EQ(graph.gradients().size(), 2U);
  EXPECT_NE(graph.gradients()[0].gradient, graph.gradients()[1].gradient);
}

TEST(Print, TableHasOneAlignedLinePerNode) {
  Graph graph;
  const ValueId x = graph.add_input("image", f32({2, 3, 4, 4}));
  const ValueId w = graph.add_parameter("conv1.weight", f32({2, 3, 3, 3}), true);
  graph.set_scope("conv1");
  const ValueId y = graph.add_one(conv(window_2d(3)), {x, w});
  graph::add_gradients(graph, graph.add_one(reduce(false, {0, 1, 2, 3}), {y}));
  const std::string table = to_table(graph);
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'),
            static_cast<std::ptrdiff_t>(graph.nodes().size() + 1));
  EXPECT_THAT(table, HasSubstr("forward   conv1  conv kernel 3x3"));
  EXPECT_THAT(table, HasSubstr("image f32[2, 3, 4, 4], conv1.weight f32[2, 3, 3, 3] -> %2 f32"));
  EXPECT_THAT(table, HasSubstr("backward  conv1  conv.backward_weights kernel 3x3"));
  const auto column = [&](const std::string& text) {
    const size_t at = table.find(text);
    return at - table.rfind('\n', at);
  };
  EXPECT_EQ(column("conv kernel"), column("conv.backward_weights"));
}

TEST(Print, DotNamesNodesParametersAndOutputs) {
  Graph graph;
  const ValueId x = graph.add_input("image", f32({2, 3, 4, 4}));
  const ValueId w = graph.add_parameter("conv1.weight", f32({2, 3, 3, 3}), true);
  graph.set_scope("conv1");
  const ValueId y = graph.add_one(conv(window_2d(3)), {x, w});
  graph.set_output("y", y);
  const std::string dot = to_dot(graph);
  EXPECT_THAT(dot, HasSubstr("digraph"));
  EXPECT_THAT(dot, HasSubstr("v1 [label=\"conv1.weight\", shape=ellipse]"));
  EXPECT_THAT(dot, HasSubstr("n0 [label=\"conv1: conv kernel 3x3\""));
  EXPECT_THAT(dot, HasSubstr("v0 -> n0 [label=\"f32[2, 3, 4, 4]\"]"));
  EXPECT_THAT(dot, HasSubstr("n0 -> o2"));
}

}  // namespace
}  // namespace syrtos::test
