#include "syrtos/graph/columns.h"

#include <gtest/gtest.h>

#include "syrtos/ops/matmul.h"
#include "syrtos/ops/reshape.h"

namespace syrtos::graph {
namespace {

TEST(DenseLayers, AreThoseOfSamplesAlone) {
  // [4, 3, 8] is read as 12 rows by the first layer and as 4 samples by the second.
  Graph graph;
  const ValueId images = graph.add_input("images", {DType::f32, {4, 3, 8}});
  const ValueId rows_weight = graph.add_parameter("rows", {DType::f32, {16, 8}}, 1);
  const ValueId samples_weight = graph.add_parameter("samples", {DType::f32, {5, 48}}, 1);
  const auto dense = [&](ValueId x, ValueId weight) {
    auto op = std::make_shared<ops::MatMul>();
    op->transpose_b = true;
    return graph.add_one(op, {x, weight});
  };
  const auto reshaped = [&](ValueId x, Shape shape) {
    return graph.add_one(std::make_shared<ops::Reshape>(shape), {x});
  };
  const ValueId rows = dense(reshaped(images, {12, 8}), rows_weight);
  dense(reshaped(rows, {4, 48}), samples_weight);
  const std::vector<DenseLayer> layers = dense_layers(graph);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(layers[0].weight, "samples");
}

}  // namespace
}  // namespace syrtos::graph
