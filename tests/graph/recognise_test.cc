// What exporters spell out becomes the operation that is meant, and means the same as before.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "syrtos/graph/graph.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/reference.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/pointwise.h"
#include "syrtos/ops/shaping.h"
#include "tests/support/gradient_check.h"

namespace syrtos::test {
namespace {

using graph::Graph;
using graph::ValueId;
using ops::BinaryKind;
using ops::PointwiseKind;
using testing::ElementsAre;

using Axes = std::vector<int64_t>;
using Build = std::function<ValueId(Graph&, ValueId)>;

/// A scalar, as files have them: of rank 0.
ValueId number(Graph& g, float value) { return ops::literal(g, Tensor::from({}, {value})); }

std::vector<std::string> names(const Graph& g) {
  std::vector<std::string> all;
  for (const graph::Node& node : g.nodes()) all.emplace_back(node.op->name());
  return all;
}

/// The operations after the pass; the result must be what it was.
std::vector<std::string> recognised(Shape shape, const Build& build) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::f32, shape});
  g.set_output("y", build(g, x));
  const Values values = random_values(g, 1);
  const ops::RefTensor before = graph::evaluate_reference(g, values).at(g.find("y"));
  graph::recognise(g);
  graph::prune(g);
  const ops::RefTensor after = graph::evaluate_reference(g, values).at(g.find("y"));
  for (int64_t i = 0; i < before.shape.elements(); ++i) EXPECT_NEAR(after[i], before[i], 1e-6);
  return names(g);
}

ValueId erf_of(Graph& g, ValueId x) {
  const ValueId inner = ops::binary(g, BinaryKind::divide, x, number(g, 1.41421356F));
  const ValueId erf = g.add_one(std::make_shared<ops::Pointwise>(PointwiseKind::erf), {inner});
  return ops::binary(g, BinaryKind::add, erf, number(g, 1));
}

TEST(Recognising, Gelu) {
  EXPECT_THAT(recognised({3, 4},
                         [](Graph& g, ValueId x) {
                           const ValueId y = ops::binary(g, BinaryKind::multiply, x, erf_of(g, x));
                           return ops::binary(g, BinaryKind::multiply, y, number(g, 0.5F));
                         }),
              ElementsAre("exact_gelu"));
  EXPECT_THAT(recognised({3, 4},
                         [](Graph& g, ValueId x) {
                           const ValueId half =
                               ops::binary(g, BinaryKind::multiply, number(g, 0.5F), x);
                           return ops::binary(g, BinaryKind::multiply, half, erf_of(g, x));
                         }),
              ElementsAre("exact_gelu"));
}

TEST(Recognising, GeluInBf16) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::bf16, {3, 4}});
  const ValueId y = ops::binary(g, BinaryKind::multiply, x, erf_of(g, x));
  g.set_output("y", ops::binary(g, BinaryKind::multiply, y, number(g, 0.5F)));
  graph::recognise(g);
  graph::prune(g);
  EXPECT_THAT(names(g), ElementsAre("exact_gelu"));
}

TEST(Recognising, OnlyWhatIsMeant) {
  EXPECT_THAT(recognised({3, 4},
                         [](Graph& g, ValueId x) {
                           const ValueId y = ops::binary(g, BinaryKind::multiply, x, erf_of(g, x));
                           return ops::binary(g, BinaryKind::multiply, y, number(g, 0.4F));
                         }),
              ElementsAre("scale", "erf", "literal", "broadcast_add", "multiply", "scale"));
}

TEST(Recognising, GatedFunctions) {
  EXPECT_THAT(recognised({3, 4},
                         [](Graph& g, ValueId x) {
                           const ValueId gate = g.add_one(
                               std::make_shared<ops::Activation>(ops::ActivationKind::sigmoid),
                               {x});
                           return ops::binary(g, BinaryKind::multiply, gate, x);
                         }),
              ElementsAre("silu"));
  EXPECT_THAT(recognised({3, 4},
                         [](Graph& g, ValueId x) {
                           const auto hard = std::make_shared<ops::Pointwise>(
                               PointwiseKind::hard_sigmoid, 1.0F / 6, 0.5F);
                           return ops::binary(g, BinaryKind::multiply, x, g.add_one(hard, {x}));
                         }),
              ElementsAre("hard_swish"));
}

TEST(Recognising, ChannelShuffles) {
  EXPECT_THAT(recognised({2, 6, 3, 2},
                         [](Graph& g, ValueId x) {
                           const ValueId split = ops::reshape(g, x, {2, 2, 3, 3, 2});
                           const ValueId turned = ops::transpose(g, split, Axes{0, 2, 1, 3, 4});
                           return ops::reshape(g, turned, {2, 6, 3, 2});
                         }),
              ElementsAre("axis_map"));
}

TEST(Fusing, TakesTheBiasOfRowsThatWereReshaped) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::f32, {2, 3, 4}});
  const ValueId weights = g.add_parameter("weights", {DType::f32, {4, 5}}, 1);
  const ValueId bias = g.add_parameter("bias", {DType::f32, {5}}, 0);
  const ValueId y = ops::binary(g, BinaryKind::add, bias, ops::matmul(g, x, weights));
  g.set_output("y", y);
  const Values values = random_values(g, 1);
  const ops::RefTensor before = graph::evaluate_reference(g, values).at(g.find("y"));
  graph::optimise(g);
  const ops::RefTensor after = graph::evaluate_reference(g, values).at(g.find("y"));
  for (int64_t i = 0; i < before.shape.elements(); ++i) EXPECT_NEAR(after[i], before[i], 1e-12);
  EXPECT_THAT(names(g), ElementsAre("reshape", "matmul", "reshape"));
  EXPECT_EQ(g.nodes()[1].op->attributes(), "a b +bias");
}

}  // namespace
}  // namespace syrtos::test
