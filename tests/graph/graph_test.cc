// The graph itself: values, names, order; and the gradients added to it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/bias.h"
#include "syrtos/ops/reshape.h"
#include "syrtos/ops/softmax.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_ops.h"

namespace syrtos::test {
namespace {

using graph::Graph;
using graph::Node;
using graph::ParameterGradient;
using graph::Phase;
using graph::ValueId;
using graph::ValueKind;
using testing::ElementsAre;
using testing::HasSubstr;

TensorType f32(Shape shape) { return {DType::f32, shape}; }
TensorType bf16(Shape shape) { return {DType::bf16, shape}; }

std::shared_ptr<ops::Activation> relu() {
  return std::make_shared<ops::Activation>(ops::ActivationKind::relu);
}

std::vector<std::string> gradient_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const ParameterGradient& pair : graph.gradients()) {
    names.push_back(graph.value(pair.parameter).name);
  }
  return names;
}

TEST(Graph, KnowsItsValuesByNameAndKind) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId w = graph.add_parameter("w", f32({4, 3}), true);
  const ValueId s = graph.add_state("s", f32({3}));
  graph.set_scope("fc");
  const ValueId y = graph.add_one(matmul(false, true), {x, w});
  graph.set_output("y", y);
  EXPECT_EQ(graph.find("x"), x);
  EXPECT_EQ(graph.find("y"), y);
  EXPECT_EQ(graph.find("z"), graph::kNone);
  EXPECT_THAT(graph.values_of(ValueKind::parameter), ElementsAre(w));
  EXPECT_THAT(graph.values_of(ValueKind::state), ElementsAre(s));
  EXPECT_TRUE(graph.value(w).decay);
  EXPECT_EQ(graph.value(y).producer, 0);
  EXPECT_EQ(graph.nodes()[0].name, "fc");
}

TEST(Graph, RefusalNamesTheLayer) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  graph.set_scope("layer1.0");
  try {
    graph.add(matmul(false, false), std::vector{x, x});
    FAIL() << "was accepted";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("layer1.0: [matmul]"));
  }
  EXPECT_TRUE(graph.nodes().empty());
}

TEST(Graph, RefusesNodesThatUseWhatDoesNotExistYet) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId a = graph.add_one(relu(), {x});
  graph.add_one(relu(), {a});
  auto nodes = graph.nodes();
  std::swap(nodes[0], nodes[1]);
  EXPECT_THROW(graph.set_nodes(nodes), InternalError);
}

TEST(Gradients, NeedALossOfOneNumber) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", f32({2, 3}), true);
  const ValueId y = graph.add_one(relu(), {w});
  EXPECT_THROW(graph::add_gradients(graph, y), RequestError);
}

TEST(Gradients, RefuseAnOperationWithoutARule) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", f32({2, 3}), true);
  const ValueId factor = graph.add_input("factor", f32({1}));
  const ValueId y = graph.add_one(std::make_shared<ops::ScaleBy>(), {w, factor});
  const ValueId loss = graph.add_one(reduce(false, {0, 1}), {y});
  EXPECT_THROW(graph::add_gradients(graph, loss), RequestError);
}

TEST(Gradients, RefuseBatchNormInInference) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const ValueId gamma = graph.add_parameter("gamma", f32({3}), false);
  const ValueId mean = graph.add_state("mean", f32({3}));
  const ValueId y = graph.add_one(batch_norm(false), {x, gamma, gamma, mean, mean});
  const ValueId loss = graph.add_one(reduce(false, {0, 1}), {y});
  EXPECT_THROW(graph::add_gradients(graph, loss), RequestError);
}

/// loss = sum of relu(x w1) w2 + l2 of w1; "unused" leads elsewhere.
struct TwoLayers {
  Graph graph;
  ValueId loss;

  TwoLayers() {
    const ValueId x = graph.add_input("x", f32({2, 3}));
    const ValueId w1 = graph.add_parameter("w1", f32({3, 4}), true);
    const ValueId w2 = graph.add_parameter("w2", f32({4, 2}), true);
    const ValueId unused = graph.add_parameter("unused", f32({4, 2}), true);
    graph.set_scope("first");
    const ValueId h = graph.add_one(matmul(false, false), {x, w1});
    const ValueId a = graph.add_one(relu(), {h});
    graph.set_scope("second");
    const ValueId y = graph.add_one(matmul(false, false), {a, w2});
    graph.add_one(matmul(false, false), {a, unused});
    graph.set_scope("loss");
    const ValueId sum = graph.add_one(reduce(false, {0, 1}), {y});
    const ValueId l2 = graph.add_one(std::make_shared<ops::L2Penalty>(0.5F), {w1});
    loss = graph.add_one(std::make_shared<ops::Add>(), {sum, l2});
  }
};

TEST(Gradients, ComeInTheOrderOfCompletionForWhatTheLossDependsOn) {
  TwoLayers net;
  graph::add_gradients(net.graph, net.loss);
  EXPECT_THAT(gradient_names(net.graph), ElementsAre("w2", "w1"));
  graph::NodeId last = -1;
  for (const ParameterGradient& pair : net.graph.gradients()) {
    EXPECT_GT(net.graph.value(pair.gradient).producer, last);
    last = net.graph.value(pair.gradient).producer;
  }
}

TEST(Gradients, AreSummedByOneNodeWithAllPieces) {
  TwoLayers net;
  graph::add_gradients(net.graph, net.loss);
  const ValueId gradient = net.graph.gradients()[1].gradient;
  const graph::Node& node =
      net.graph.nodes()[static_cast<size_t>(net.graph.value(gradient).producer)];
  EXPECT_EQ(node.op->name(), "add");
  EXPECT_EQ(node.inputs.size(), 2U);
}

TEST(Gradients, BelongToTheBackwardPhaseAndTheirLayer) {
  TwoLayers net;
  const size_t forward = net.graph.nodes().size();
  net.graph.set_scope("after");
  graph::add_gradients(net.graph, net.loss);
  for (size_t i = 0; i < net.graph.nodes().size(); ++i) {
    const graph::Node& node = net.graph.nodes()[i];
    EXPECT_EQ(node.phase, i < forward ? Phase::forward : Phase::backward);
    EXPECT_NE(node.name, "after");
    if (node.op->name() == "relu.backward") {
      EXPECT_EQ(node.name, "first");
    }
  }
  EXPECT_EQ(net.graph.scope(), "after");
  EXPECT_EQ(net.graph.phase(), Phase::forward);
}

TEST(Gradients, OfSharedParametersAndValuesAddUp) {
  Graph graph;
  const ValueId w = graph.add_parameter("w", f32({3, 3}), true);
  const ValueId v = graph.add_parameter("v", f32({3, 3}), true);
  const ValueId a = graph.add_one(matmul(false, true), {v, w});
  const ValueId b = graph.add_one(matmul(false, false), {a, w});
  const ValueId c = graph.add_one(std::make_shared<ops::Multiply>(), {b, a});
  const ValueId d = graph.add_one(std::make_shared<ops::Multiply>(), {c, c});
  const ValueId loss = graph.add_one(reduce(true, {0, 1}), {d});
  check_gradients(graph, loss);
}

TEST(Gradients, OfDifferentParametersAreDifferentValues) {
  Graph graph;
  const ValueId a = graph.add_parameter("a", f32({3}), true);
  const ValueId b = graph.add_parameter("b", f32({3}), true);
  const ValueId sum = graph.add_one(std::make_shared<ops::Add>(), {a, b});
  const ValueId loss = graph.add_one(reduce(false, {0}), {sum});
  graph::add_gradients(graph, loss);
  ASSERT_EQ(graph.gradients().size(), 2U);
  EXPECT_NE(graph.gradients()[0].gradient, graph.gradients()[1].gradient);
}

TEST(Gradients, OfBf16WeightsAreF32) {
  Graph graph;
  const ValueId x = graph.add_input("x", bf16({2, 3, 4, 4}));
  const ValueId kernel = graph.add_parameter("kernel", bf16({5, 3, 3, 3}), true);
  const ValueId weights = graph.add_parameter("weights", bf16({6, 80}), true);
  const ValueId bias = graph.add_parameter("bias", f32({6}), false);
  const ValueId labels = graph.add_input("labels", {DType::s32, {2}});
  const ValueId h = graph.add_one(conv(window_2d(3, 1, 1)), {x, kernel});
  const ValueId flat = graph.add_one(std::make_shared<ops::Reshape>(Shape{2, 80}), {h});
  auto dense = matmul(false, true);
  dense->f32_output = true;
  const ValueId y = graph.add_one(dense, {flat, weights});
  const ValueId logits = graph.add_one(std::make_shared<ops::BiasAdd>(), {y, bias});
  const ValueId log_p = graph.add_one(std::make_shared<ops::Softmax>(true), {logits});
  const ValueId entropy = graph.add_one(cross_entropy(), {log_p, labels});
  const ValueId l2 = graph.add_one(std::make_shared<ops::L2Penalty>(0.1F), {kernel});
  const ValueId loss = graph.add_one(std::make_shared<ops::Add>(), {entropy, l2});
  graph::add_gradients(graph, loss);
  ASSERT_EQ(graph.gradients().size(), 3U);
  for (const ParameterGradient& pair : graph.gradients()) {
    EXPECT_EQ(graph.type(pair.gradient), f32(graph.type(pair.parameter).shape));
  }
}

TEST(Reference, RefusesAMissingValue) {
  TwoLayers net;
  EXPECT_THROW(graph::evaluate_reference(net.graph, {}), InternalError);
}

TEST(Gradients, FrozenParametersGetNoneAndWhatOnlyTheyNeedIsNotComputed) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::f32, {2, 3}});
  const ValueId first = g.add_parameter("first", {DType::f32, {4, 3}}, 1);
  const ValueId second = g.add_parameter("second", {DType::f32, {2, 4}}, 1);
  const auto dense = [&](ValueId src, ValueId weights) {
    auto op = std::make_shared<ops::MatMul>();
    op->transpose_b = true;
    return g.add_one(op, {src, weights});
  };
  const ValueId y = dense(dense(x, first), second);
  const ValueId target = g.add_input("target", g.type(y));
  const ValueId loss = g.add_one(std::make_shared<ops::HalfSquaredError>(), {y, target});
  g.freeze(first);
  add_gradients(g, loss);
  ASSERT_EQ(g.gradients().size(), 1U);
  EXPECT_EQ(g.gradients()[0].parameter, second);
  g.set_output("loss", loss);
  prune(g);
  EXPECT_EQ(std::ranges::count_if(g.nodes(),
                                  [](const Node& node) {
                                    return node.phase == Phase::backward &&
                                           node.op->name() == "matmul";
                                  }),
            1);
}

}  // namespace
}  // namespace syrtos::test
