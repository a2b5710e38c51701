// A fused graph computes the same outputs and gradients as the graph it was made of.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
using graph::ValueId;
using testing::DoubleNear;
using testing::Pointwise;

/// Layers over a graph, with parameters named by their order.
class Net {
 public:
  Graph graph;
  bool synchronised = false;  ///< batch norms

  ValueId parameter(Shape shape) {
    return graph.add_parameter("p" + std::to_string(next_++), {DType::f32, shape}, true);
  }
  ValueId conv3(ValueId x, int64_t out, int64_t stride = 1) {
    const ValueId weights = parameter({out, graph.type(x).shape[1], 3, 3});
    return graph.add_one(conv(window_2d(3, stride, 1)), {x, weights});
  }
  ValueId bias(ValueId x) {
    const ValueId values = parameter({graph.type(x).shape[1]});
    return graph.add_one(std::make_shared<ops::BiasAdd>(), {x, values});
  }
  ValueId norm(ValueId x) {
    const Shape channels{graph.type(x).shape[1]};
    const ValueId gamma = parameter(channels);
    const ValueId beta = parameter(channels);
    const ValueId mean = graph.add_state("s" + std::to_string(next_++), {DType::f32, channels});
    const ValueId var = graph.add_state("s" + std::to_string(next_++), {DType::f32, channels});
    const auto op = batch_norm();
    op->synchronised = synchronised;
    return graph.add_one(op, {x, gamma, beta, mean, var});
  }
  ValueId dense(ValueId x, int64_t out) {
    const ValueId weights = parameter({out, graph.type(x).shape[1]});
    return graph.add_one(matmul(false, true), {x, weights});
  }
  ValueId relu(ValueId x) {
    return graph.add_one(std::make_shared<ops::Activation>(ops::ActivationKind::relu), {x});
  }
  ValueId add(ValueId a, ValueId b) { return graph.add_one(std::make_shared<ops::Add>(), {a, b}); }
  ValueId flatten(ValueId x) {
    const Shape& shape = graph.type(x).shape;
    return graph.add_one(std::make_shared<ops::Reshape>(Shape{shape[0], shape.elements_from(1)}),
                         {x});
  }
  ValueId image(Shape shape) { return graph.add_input("image", {DType::f32, shape}); }
  ValueId square_loss(ValueId x) {
    const ValueId target = graph.add_input("target", graph.type(x));
    return graph.add_one(std::make_shared<ops::HalfSquaredError>(), {x, target});
  }

 private:
  int next_ = 0;
};

int64_t count(const Graph& graph, const std::string& operation) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& node) {
    const std::string attributes = node.op->attributes();
    const size_t fused = attributes.find('+');
    return std::string(node.op->name()) +
               (fused == std::string::npos ? "" : " " + attributes.substr(fused)) ==
           operation;
  });
}

/// Adds the gradients, optimises a copy, compares it with the original and returns it.
Graph optimised(Net& net, ValueId loss) {
  net.graph.set_output("loss", loss);
  graph::add_gradients(net.graph, loss);
  Graph fused = net.graph;
  graph::optimise(fused);

  const Values given = random_values(net.graph, 3);
  const Values before = graph::evaluate_reference(net.graph, given);
  const Values after = graph::evaluate_reference(fused, given);
  EXPECT_EQ(fused.outputs().size(), net.graph.outputs().size());
  for (const auto& [name, id] : net.graph.outputs()) {
    EXPECT_THAT(after.at(fused.find(name)).values,
                Pointwise(DoubleNear(1e-9), before.at(id).values))
        << name;
  }
  EXPECT_EQ(fused.gradients().size(), net.graph.gradients().size());
  graph::NodeId last = 0;
  for (const ParameterGradient& pair : fused.gradients()) {
    const auto original = std::find_if(
        net.graph.gradients().begin(), net.graph.gradients().end(),
        [&](const ParameterGradient& other) { return other.parameter == pair.parameter; });
    EXPECT_THAT(after.at(pair.gradient).values,
                Pointwise(DoubleNear(1e-9), before.at(original->gradient).values))
        << net.graph.value(pair.parameter).name;
    EXPECT_GE(fused.value(pair.gradient).producer, last) << "gradients in order of completion";
    last = fused.value(pair.gradient).producer;
  }
  return fused;
}

TEST(Fusion, ConvTakesBiasAndRelu) {
  Net net;
  ValueId x = net.relu(net.bias(net.conv3(net.image({2, 2, 4, 4}), 3)));
  x = net.bias(net.conv3(x, 2));
  const Graph fused = optimised(net, net.square_loss(x));
  EXPECT_EQ(count(fused, "conv +bias +relu"), 1);
  EXPECT_EQ(count(fused, "conv +bias"), 1);
  EXPECT_EQ(count(fused, "conv.backward_weights +bias"), 2);
  EXPECT_EQ(count(fused, "relu.backward"), 1);
  EXPECT_EQ(count(fused, "bias_add") + count(fused, "relu") + count(fused, "bias_add.backward"), 0);
}

TEST(Fusion, LeavesWhatOthersUse) {
  Net net;
  const ValueId y = net.conv3(net.image({2, 2, 4, 4}), 3);
  const ValueId x = net.relu(net.bias(y));
  const Graph fused = optimised(net, net.square_loss(net.add(x, y)));
  EXPECT_EQ(count(fused, "conv"), 1);
  EXPECT_EQ(count(fused, "bias_add"), 1);
  EXPECT_EQ(count(fused, "relu"), 1);
}

TEST(Fusion, LeavesWhatIsAnOutput) {
  Net net;
  const ValueId y = net.bias(net.conv3(net.image({2, 2, 4, 4}), 3));
  net.graph.set_output("before relu", y);
  const Graph fused = optimised(net, net.square_loss(net.relu(y)));
  EXPECT_EQ(count(fused, "conv +bias"), 1);
  EXPECT_EQ(count(fused, "relu"), 1);
}

TEST(Fusion, MatMulTakesBiasAndRelu) {
  Net net;
  ValueId x = net.flatten(net.image({3, 2, 2, 2}));
  x = net.relu(net.bias(net.dense(x, 5)));
  x = net.bias(net.dense(x, 4));
  const Graph fused = optimised(net, net.square_loss(x));
  EXPECT_EQ(count(fused, "matmul +bias +relu"), 1);
  EXPECT_EQ(count(fused, "matmul +bias"), 1);
  EXPECT_EQ(count(fused, "bias_add.backward"), 2);
}

TEST(Fusion, BatchNormTakesRelu) {
  Net net;
  ValueId x = net.relu(net.norm(net.conv3(net.image({2, 2, 4, 4}), 3)));
  x = net.conv3(x, 2);
  const Graph fused = optimised(net, net.square_loss(x));
  EXPECT_EQ(count(fused, "batch_norm +relu"), 1);
  EXPECT_EQ(count(fused, "batch_norm.backward +relu"), 1);
  EXPECT_EQ(count(fused, "relu.backward"), 0);
}

TEST(Fusion, LeavesBatchNormSynchronised) {
  Net net;
  net.synchronised = true;
  const ValueId x = net.relu(net.norm(net.conv3(net.image({2, 2, 4, 4}), 3)));
  const Graph fused = optimised(net, net.square_loss(net.conv3(x, 2)));
  int synchronised = 0;
  for (const Node& node : fused.nodes()) {
    const bool norm = node.op->name().starts_with("batch_norm");
    if (norm && node.op->attributes().ends_with("synchronised +relu")) ++synchronised;
  }
  EXPECT_EQ(synchronised, 2);
}

// Two blocks: the result of the first is the input and the residual of the second.
TEST(Fusion, BatchNormTakesTheResidualOfABlock) {
  Net net;
  const ValueId stem = net.relu(net.norm(net.conv3(net.image({2, 2, 4, 4}), 3)));
  ValueId x = net.relu(net.norm(net.conv3(stem, 3)));
  const ValueId first = net.relu(net.add(net.norm(net.conv3(x, 3)), stem));
  x = net.relu(net.norm(net.conv3(first, 3)));
  const ValueId second = net.relu(net.add(net.norm(net.conv3(x, 3)), first));
  const Graph fused = optimised(net, net.square_loss(second));
  EXPECT_EQ(count(fused, "batch_norm +add +relu"), 2);
  EXPECT_EQ(count(fused, "batch_norm.backward +add +relu"), 2);
  EXPECT_EQ(count(fused, "batch_norm +relu"), 3);
  EXPECT_EQ(count(fused, "batch_norm.backward +relu"), 3);
  EXPECT_EQ(count(fused, "relu") + count(fused, "relu.backward"), 0);
  EXPECT_EQ(count(fused, "add"), 2) << "where the residual's gradient joins";
}

// The block that halves the image has batch norms on both sides of the addition.
TEST(Fusion, TheLaterOfTwoBatchNormsTakesTheOther) {
  for (const bool shortcut_first : {false, true}) {
    Net net;
    const ValueId stem = net.relu(net.norm(net.conv3(net.image({2, 2, 4, 4}), 3)));
    ValueId shortcut = shortcut_first ? net.norm(net.conv3(stem, 4, 2)) : graph::kNone;
    const ValueId inner = net.relu(net.norm(net.conv3(stem, 4, 2)));
    const ValueId main = net.norm(net.conv3(inner, 4));
    if (!shortcut_first) shortcut = net.norm(net.conv3(stem, 4, 2));
    const ValueId y = net.relu(net.add(main, shortcut));
    const Graph fused = optimised(net, net.square_loss(y));
    EXPECT_EQ(count(fused, "batch_norm +add +relu"), 1);
    EXPECT_EQ(count(fused, "batch_norm.backward +add +relu"), 1);
    EXPECT_EQ(count(fused, "batch_norm"), 1);
    EXPECT_EQ(count(fused, "batch_norm.backward"), 1);
    EXPECT_EQ(count(fused, "relu.backward"), 0);
  }
}

TEST(Fusion, ResidualWithoutGradientNeedsNoFourthOutput) {
  Net net;
  const ValueId image = net.image({2, 3, 4, 4});
  const ValueId y = net.relu(net.add(net.norm(net.conv3(image, 3)), image));
  const Graph fused = optimised(net, net.square_loss(y));
  EXPECT_EQ(count(fused, "batch_norm +add +relu"), 1);
  EXPECT_EQ(count(fused, "batch_norm.backward +relu"), 1);
}

TEST(Fusion, AddTakesRelu) {
  Net net;
  const ValueId x = net.image({2, 2, 4, 4});
  const ValueId y = net.relu(net.add(net.conv3(x, 3), net.conv3(x, 3)));
  const Graph fused = optimised(net, net.square_loss(y));
  EXPECT_EQ(count(fused, "add +relu"), 1);
  EXPECT_EQ(count(fused, "relu.backward"), 1);
}

struct Classifier : Net {
  ValueId labels = graph.add_input("labels", {DType::s32, {4}});
  ValueId features = flatten(image({4, 2, 2, 2}));

  ValueId entropy(ValueId log_p, float smoothing = 0.1F) {
    return graph.add_one(cross_entropy(smoothing), {log_p, labels});
  }
  ValueId log_softmax(ValueId logits) {
    return graph.add_one(std::make_shared<ops::Softmax>(true), {logits});
  }
};

TEST(Fusion, SoftmaxJoinsCrossEntropy) {
  Classifier net;
  const ValueId loss = net.entropy(net.log_softmax(net.bias(net.dense(net.features, 3))));
  const Graph fused = optimised(net, loss);
  EXPECT_EQ(count(fused, "softmax_cross_entropy"), 1);
  EXPECT_EQ(count(fused, "softmax_cross_entropy.backward"), 1);
  EXPECT_EQ(count(fused, "log_softmax") + count(fused, "log_softmax.backward") +
                count(fused, "cross_entropy") + count(fused, "cross_entropy.backward"),
            0);
}

TEST(Fusion, LogSoftmaxStaysForOtherUsers) {
  Classifier net;
  const ValueId logits = net.dense(net.features, 3);
  const ValueId log_p = net.log_softmax(logits);
  net.graph.set_output("log_p", log_p);
  net.graph.set_output("logits", logits);
  const Graph fused = optimised(net, net.entropy(log_p));
  EXPECT_EQ(count(fused, "softmax_cross_entropy"), 1);
  EXPECT_EQ(count(fused, "log_softmax"), 1);
  EXPECT_EQ(count(fused, "log_softmax.backward"), 0);
}

TEST(Fusion, CrossEntropyAloneStaysWhereLogSoftmaxIsNeededAnyway) {
  Classifier net;
  const ValueId log_p = net.log_softmax(net.features);
  net.graph.set_output("log_p", log_p);
  net.graph.set_output("loss", net.entropy(log_p));
  graph::optimise(net.graph);
  EXPECT_EQ(count(net.graph, "softmax_cross_entropy"), 0);
}

// Side classifiers with one weight share their cross_entropy.backward after the other passes.
TEST(Fusion, EveryHeadOfAWeightedLossIsFused) {
  Classifier net;
  const ValueId head = net.entropy(net.log_softmax(net.dense(net.features, 3)));
  const ValueId side1 = net.entropy(net.log_softmax(net.dense(net.features, 3)));
  const ValueId side2 = net.entropy(net.log_softmax(net.dense(net.features, 3)));
  const auto weigh = [&](ValueId x) {
    return net.graph.add_one(std::make_shared<ops::Scale>(0.25F), {x});
  };
  const Graph fused = optimised(net, net.add(net.add(head, weigh(side1)), weigh(side2)));
  EXPECT_EQ(count(fused, "softmax_cross_entropy"), 3);
  EXPECT_EQ(count(fused, "softmax_cross_entropy.backward"), 3);
  EXPECT_EQ(count(fused, "cross_entropy.backward"), 0);
}

TEST(Fusion, WholeNetworkStaysCorrect) {
  Classifier net;
  ValueId x = net.relu(net.bias(net.conv3(net.graph.find("image"), 3)));
  const ValueId block = net.relu(net.norm(net.conv3(x, 3)));
  x = net.relu(net.add(net.norm(net.conv3(block, 3)), x));
  x = net.graph.add_one(adaptive_pool(ops::PoolKind::average, 1, 1), {x});
  x = net.graph.add_one(dropout(0.3F), {net.relu(net.bias(net.dense(net.flatten(x), 6)))});
  ValueId loss = net.entropy(net.log_softmax(net.bias(net.dense(x, 3))));
  for (const ValueId parameter : net.graph.values_of(graph::ValueKind::parameter)) {
    const ValueId l2 = net.graph.add_one(std::make_shared<ops::L2Penalty>(0.5F), {parameter});
    loss = net.add(loss, l2);
  }
  const Graph fused = optimised(net, loss);
  EXPECT_LT(fused.nodes().size(), net.graph.nodes().size());
}

}  // namespace
}  // namespace syrtos::test
