// Operations as NumPy and ONNX know them: what shapes and numbers come out.

#include "syrtos/ops/shaping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/graph/graph.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/reference.h"
#include "syrtos/ops/composed.h"
#include "syrtos/ops/literal.h"
#include "syrtos/ops/resizing.h"

namespace syrtos {
namespace {

using graph::Graph;
using graph::ValueId;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Pointwise;

using Axes = std::vector<int64_t>;
using Ranges = std::vector<ops::SliceRange>;

/// The numbers 0, 1, 2 ... in that shape.
ops::RefTensor count_up(Shape shape) {
  ops::RefTensor tensor(shape);
  std::iota(tensor.values.begin(), tensor.values.end(), 0.0);
  return tensor;
}

ops::RefTensor result_of(const ops::RefTensor& x,
                         const std::function<ValueId(Graph&, ValueId)>& build) {
  Graph graph;
  const ValueId input = graph.add_input("x", {DType::f32, x.shape});
  const ValueId result = build(graph, input);
  return graph::evaluate_reference(graph, {{input, x}}).at(result);
}

std::vector<double> sliced(Shape shape, const Ranges& ranges) {
  return result_of(count_up(shape), [&](Graph& g, ValueId x) { return ops::slice(g, x, ranges); })
      .values;
}

TEST(Slices, AreThoseOfPython) {
  EXPECT_THAT(sliced({6}, {{0, 1, 4, 1}}), ElementsAre(1, 2, 3));
  EXPECT_THAT(sliced({6}, {{0, -2, 100, 1}}), ElementsAre(4, 5));
  EXPECT_THAT(sliced({6}, {{0, 0, 6, 4}}), ElementsAre(0, 4));
  EXPECT_THAT(sliced({6}, {{0, -1, INT64_MIN, -1}}), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(sliced({6}, {{0, 100, 0, -2}}), ElementsAre(5, 3, 1));
  EXPECT_THAT(sliced({6}, {{0, 4, -7, -4}}), ElementsAre(4, 0));
  EXPECT_THAT(sliced({2, 3}, {{-1, 1, INT64_MAX, 1}, {0, 1, 2, 1}}), ElementsAre(4, 5));
}

TEST(Slices, ThatLeaveNothingAreRefused) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::f32, {4, 5}});
  try {
    ops::slice(g, x, Ranges{{1, 3, 3, 1}});
    FAIL() << "an empty slice";
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[4, 5]"));
  }
  EXPECT_THROW(ops::slice(g, x, Ranges{{2, 0, 1, 1}}), RequestError);
}

std::vector<double> padded(ops::PadMode mode, int64_t before, int64_t after, int64_t extent) {
  const Axes first{before};
  const Axes last{after};
  return result_of(count_up({extent}),
                   [&](Graph& g, ValueId x) { return ops::pad(g, x, first, last, mode, 9); })
      .values;
}

TEST(Padding, IsThatOfNumpy) {
  EXPECT_THAT(padded(ops::PadMode::constant, 2, 1, 3), ElementsAre(9, 9, 0, 1, 2, 9));
  EXPECT_THAT(padded(ops::PadMode::constant, -1, 1, 3), ElementsAre(1, 2, 9));
  EXPECT_THAT(padded(ops::PadMode::edge, 2, 1, 3), ElementsAre(0, 0, 0, 1, 2, 2));
  EXPECT_THAT(padded(ops::PadMode::reflect, 2, 4, 3), ElementsAre(2, 1, 0, 1, 2, 1, 0, 1, 2));
  EXPECT_THAT(padded(ops::PadMode::wrap, 2, 1, 3), ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_THAT(padded(ops::PadMode::reflect, -1, 1, 3), ElementsAre(1, 2, 1));
}

TEST(Shaping, GivesTheShapesOfNumpy) {
  Graph g;
  const ValueId x = g.add_input("x", {DType::f32, {2, 1, 3, 1}});
  const auto shape = [&](ValueId value) { return to_string(g.type(value).shape); };
  EXPECT_EQ(shape(ops::squeeze(g, x)), "[2, 3]");
  EXPECT_EQ(shape(ops::squeeze(g, x, Axes{-1})), "[2, 1, 3]");
  EXPECT_THROW(ops::squeeze(g, x, Axes{2}), RequestError);
  EXPECT_EQ(shape(ops::unsqueeze(g, x, Axes{0, -1})), "[1, 2, 1, 3, 1, 1]");
  EXPECT_EQ(shape(ops::flatten(g, x, 2)), "[2, 3]");
  EXPECT_EQ(shape(ops::flatten(g, x, 0)), "[1, 6]");
  EXPECT_EQ(shape(ops::flatten(g, x, 4)), "[6, 1]");
  EXPECT_EQ(shape(ops::transpose(g, x)), "[1, 3, 1, 2]");
  EXPECT_EQ(shape(ops::expand(g, x, {4, 1, 5})), "[2, 4, 3, 5]");
  EXPECT_EQ(shape(ops::gather(g, x, 2, Axes{0, 2}, {2, 1})), "[2, 1, 2, 1, 1]");
  EXPECT_EQ(shape(ops::gather(g, x, 0, Axes{1}, {})), "[1, 3, 1]");
  EXPECT_EQ(shape(ops::split(g, x, 2, Axes{1, 2})[1]), "[2, 1, 2, 1]");
  EXPECT_THROW(ops::split(g, x, 2, Axes{1, 1}), RequestError);
  EXPECT_EQ(shape(ops::reduce(g, x, ops::ReduceKind::mean, Axes{-2}, true)), "[2, 1, 1, 1]");
  EXPECT_EQ(shape(ops::reduce(g, x, ops::ReduceKind::sum, Axes{0, 1}, false)), "[3, 1]");
  EXPECT_EQ(shape(ops::global_pool(g, x, ops::PoolKind::max)), "[2, 1, 1, 1]");
  EXPECT_EQ(ops::transpose(g, x, Axes{0, 1, 2, 3}), x) << "nothing changes";
}

TEST(Shaping, ProductsAreThoseOfNumpy) {
  Graph g;
  const auto value = [&](Shape shape) {
    return g.add_input("v" + std::to_string(g.values().size()), {DType::f32, shape});
  };
  const auto shape = [&](ValueId a, ValueId b) {
    return to_string(g.type(ops::matmul(g, a, b)).shape);
  };
  EXPECT_EQ(shape(value({3}), value({3, 2})), "[2]");
  EXPECT_EQ(shape(value({4, 3}), value({3})), "[4]");
  EXPECT_EQ(shape(value({3}), value({3})), "[1]");
  EXPECT_EQ(shape(value({5, 4, 3}), value({3, 2})), "[5, 4, 2]");
  EXPECT_EQ(shape(value({5, 4, 3}), value({3})), "[5, 4]");
  EXPECT_EQ(shape(value({3}), value({5, 3, 2})), "[5, 2]");
  EXPECT_EQ(shape(value({6, 1, 4, 3}), value({5, 3, 2})), "[6, 5, 4, 2]");
  EXPECT_THROW(shape(value({4, 3}), value({4, 3})), RequestError);
}

std::vector<double> resized(const std::vector<double>& from, int64_t extent, double scale,
                            const ops::ResizeOptions& options) {
  ops::RefTensor x(Shape{static_cast<int64_t>(from.size())});
  x.values = from;
  const std::vector<ops::ResizedAxis> axes{{0, extent, scale}};
  return result_of(x, [&](Graph& g, ValueId v) { return ops::resize(g, v, axes, options); }).values;
}

MATCHER(IsNear, "") { return std::abs(std::get<0>(arg) - std::get<1>(arg)) < 1e-5; }

// By hand from the formulas; the cubic numbers follow from an example of ONNX's documentation, in
// which the first element is 1 + 5 * 0.0942383 = 1.47119141.
TEST(Resizing, PutsElementsWhereTheFormulasSay) {
  using ops::ResizeCoordinates;
  using ops::ResizeMode;
  using ops::ResizeRounding;
  const std::vector<double> two{1, 2};
  const std::vector<double> four{1, 2, 3, 4};
  const ops::ResizeOptions nearest;
  EXPECT_THAT(resized(two, 4, 2, nearest), ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(resized(four, 2, 0.6, nearest), ElementsAre(1, 3));
  ops::ResizeOptions floor;
  floor.coordinates = ResizeCoordinates::asymmetric;
  floor.rounding = ResizeRounding::floor;
  EXPECT_THAT(resized(two, 5, 2.5, floor), ElementsAre(1, 1, 1, 2, 2));
  ops::ResizeOptions linear;
  linear.mode = ResizeMode::linear;
  EXPECT_THAT(resized(two, 4, 2, linear),
              Pointwise(IsNear(), std::vector<double>{1, 1.25, 1.75, 2}));
  EXPECT_THAT(resized(four, 2, 0.6, linear),
              Pointwise(IsNear(), std::vector<double>{1.3333333, 3}));
  linear.coordinates = ResizeCoordinates::align_corners;
  EXPECT_THAT(resized(two, 4, 2, linear),
              Pointwise(IsNear(), std::vector<double>{1, 4.0 / 3, 5.0 / 3, 2}));
  linear.coordinates = ResizeCoordinates::pytorch_half_pixel;
  EXPECT_THAT(resized(four, 1, 0.25, linear), Pointwise(IsNear(), std::vector<double>{1}));
  ops::ResizeOptions wide;
  wide.mode = ResizeMode::linear;
  wide.antialias = true;
  wide.exclude_outside = true;
  EXPECT_THAT(resized(four, 2, 0.5, wide),
              Pointwise(IsNear(), std::vector<double>{(0.75 + 1.5 + 0.75) / 1.75,
                                                      (0.5 + 2.25 + 3.0) / 1.75}));
  ops::ResizeOptions cubic;
  cubic.mode = ResizeMode::cubic;
  EXPECT_THAT(resized(four, 3, 0.8, cubic),
              Pointwise(IsNear(), std::vector<double>{1.0942383, 2.4042969, 3.7055664}));
}

TEST(Folding, ComputesWhatDependsOnLiteralsAlone) {
  Graph g;
  const ValueId a = ops::literal(g, Tensor::from({2, 3}, {1, 2, 3, 4, 5, 6}));
  const ValueId b = ops::transpose(g, a);
  const ValueId sum = ops::reduce(g, b, ops::ReduceKind::sum, Axes{1}, false);
  const ValueId x = g.add_input("x", {DType::f32, {3}});
  g.set_output("y", ops::binary(g, ops::BinaryKind::multiply, x, sum));
  graph::optimise(g);
  ASSERT_EQ(g.nodes().size(), 2U);
  const auto* literal = dynamic_cast<const ops::Literal*>(g.nodes()[0].op.get());
  ASSERT_NE(literal, nullptr);
  EXPECT_THAT(literal->value.to_vector(), ElementsAreArray({5.0F, 7.0F, 9.0F}));
}

TEST(Folding, ProductsTakeWhatIsTransposedAsItIs) {
  Graph g;
  const ValueId a = g.add_input("a", {DType::f32, {2, 5, 7}});
  const ValueId b = g.add_input("b", {DType::f32, {2, 4, 7}});
  const ValueId turned = ops::transpose(g, ops::transpose(g, b, Axes{0, 2, 1}), Axes{0, 1, 2});
  g.set_output("y", ops::matmul(g, a, turned));
  graph::optimise(g);
  ASSERT_EQ(g.nodes().size(), 1U);
  EXPECT_EQ(g.nodes()[0].op->attributes(), "a b^T");
}

}  // namespace
}  // namespace syrtos
