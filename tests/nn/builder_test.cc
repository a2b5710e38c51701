#include "syrtos/nn/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/batch_norm.h"

namespace syrtos::nn {
namespace {

using testing::HasSubstr;

class BuilderTest : public testing::Test {
 public:
  ValueId image(const Shape& shape) { return graph.add_input("images", {DType::f32, shape}); }

  graph::Graph graph;
  Builder b{graph, DType::f32, true};
};

TEST_F(BuilderTest, NamesParametersAfterTheirLayerWithinScopes) {
  ValueId x = image({2, 3, 8, 8});
  {
    const auto outer = b.scope("layer1");
    const auto inner = b.scope("0");
    x = b.conv("conv1", x, {.out = 4, .kernel = 3});
  }
  x = b.batch_norm("bn1", x);
  std::vector<std::string> names;
  for (const auto& [name, initializer] : b.initializers()) names.push_back(name);
  EXPECT_THAT(names,
              testing::ElementsAre("layer1.0.conv1.weight", "layer1.0.conv1.bias", "bn1.weight",
                                   "bn1.bias", "bn1.running_mean", "bn1.running_var"));
  EXPECT_EQ(graph.nodes().front().name, "layer1.0.conv1");
}

TEST_F(BuilderTest, PaddingKeepsOrShrinksTheImage) {
  const ValueId x = image({2, 3, 9, 10});
  EXPECT_EQ(b.shape(b.conv("a", x, {.out = 4, .kernel = 3, .padding = Padding::same()})),
            (Shape{2, 4, 9, 10}));
  EXPECT_EQ(
      b.shape(b.conv("b", x, {.out = 4, .kernel = 3, .stride = 2, .padding = Padding::same()})),
      (Shape{2, 4, 5, 5}));
  EXPECT_EQ(b.shape(b.conv("c", x, {.out = 4, .kernel = {3, 5}, .padding = Padding::valid()})),
            (Shape{2, 4, 7, 6}));
  EXPECT_EQ(b.shape(b.conv("d", x, {.out = 4, .kernel = 3, .padding = {2, 0}, .dilation = 2})),
            (Shape{2, 4, 9, 6}));
}

TEST_F(BuilderTest, ConvolutionsInOneDimension) {
  ValueId x = image({2, 3, 100});
  x = b.conv("conv1", x, {.out = 8, .kernel = 5, .stride = 2});
  EXPECT_EQ(b.shape(x), (Shape{2, 8, 48}));
  x = b.max_pool(x);
  EXPECT_EQ(b.shape(x), (Shape{2, 8, 24}));
  EXPECT_EQ(b.shape(b.global_avg_pool(x)), (Shape{2, 8}));
  EXPECT_EQ(graph.type(graph.values_of(graph::ValueKind::parameter)[0]).shape, (Shape{8, 3, 5}));
}

TEST_F(BuilderTest, GroupsDivideTheChannels) {
  const ValueId x = image({2, 6, 8, 8});
  b.conv("conv1", x, {.out = 9, .kernel = 3, .groups = 3});
  EXPECT_EQ(graph.type(graph.values_of(graph::ValueKind::parameter)[0]).shape, (Shape{9, 2, 3, 3}));
  EXPECT_THROW(b.conv("conv2", x, {.out = 9, .kernel = 3, .groups = 4}), RequestError);
}

// Expected extents by hand: in, kernel, stride, padding -> out.
TEST_F(BuilderTest, CeilModeCountsPartialWindowsThatBeginInside) {
  const int64_t cases[][5] = {
      {6, 3, 2, 0, 3}, {7, 3, 2, 0, 3}, {5, 2, 2, 0, 3}, {4, 2, 2, 0, 2}, {7, 2, 3, 0, 3},
      {5, 2, 4, 0, 2}, {3, 2, 4, 1, 1}, {3, 3, 2, 0, 1}, {2, 3, 2, 0, 1},
  };
  int64_t index = 0;
  for (const auto& [in, kernel, stride, padding, out] : cases) {
    const ValueId x = graph.add_input(std::to_string(index++), {DType::f32, {1, 1, in, in}});
    const ValueId y =
        b.max_pool(x, {.kernel = kernel, .stride = stride, .padding = padding, .ceil = true});
    EXPECT_EQ(b.shape(y), (Shape{1, 1, out, out})) << in << " " << kernel << " " << stride;
  }
}

TEST_F(BuilderTest, AWindowLargerThanTheImageNamesTheLayer) {
  const ValueId x = image({2, 3, 4, 4});
  try {
    b.conv("conv7", x, {.out = 4, .kernel = 5});
    FAIL() << "no error";
  } catch (const ImageTooSmall& error) {
    EXPECT_THAT(error.what(), HasSubstr("conv7"));
    EXPECT_THAT(error.what(), HasSubstr("[2, 3, 4, 4]"));
  }
}

TEST_F(BuilderTest, DropoutIsNotThereInInference) {
  const ValueId x = image({2, 8});
  Builder inference(graph, DType::f32, false);
  EXPECT_EQ(inference.dropout(x, 0.5F), x);
  EXPECT_NE(b.dropout(x, 0.5F), x);
}

TEST_F(BuilderTest, TheShortcutWithoutParametersTakesEverySecondPixelAndPadsChannels) {
  const ValueId x = image({2, 4, 5, 6});
  EXPECT_EQ(b.shape(b.pad_channels(b.subsample(x, 2), 8)), (Shape{2, 8, 3, 3}));
  EXPECT_EQ(b.pad_channels(b.subsample(x, 1), 4), x);
}

TEST_F(BuilderTest, LogitsAreF32AlsoInBf16) {
  Builder bf16(graph, DType::bf16, true);
  const ValueId x = graph.add_input("x", {DType::bf16, {2, 16}});
  const ValueId hidden = bf16.dense("fc1", x, 8);
  EXPECT_EQ(graph.type(hidden).dtype, DType::bf16);
  EXPECT_EQ(graph.type(bf16.classifier("fc2", hidden, 3)), (TensorType{DType::f32, {2, 3}}));
}

TEST_F(BuilderTest, BatchNormTrainsWhatItsOptionsSay) {
  const ValueId x = image({2, 3, 8, 8});
  b.batch_norm("usual", x);
  b.batch_norm("fast", x, {.scale = false, .beta_rate = 64});
  EXPECT_EQ(graph.find("fast.weight"), graph::kNone);
  const graph::Value& beta = graph.value(graph.find("fast.bias"));
  EXPECT_EQ(beta.rate, 64);
  EXPECT_EQ(beta.decay, 1.0F / 64);
  const graph::Value& usual = graph.value(graph.find("usual.bias"));
  EXPECT_EQ(usual.rate, 1);
  EXPECT_EQ(usual.decay, 0);
}

TEST_F(BuilderTest, BatchNormIsSynchronisedInTrainingOnly) {
  for (const bool training : {true, false}) {
    const Model model =
        find_network("resnet18")
            .build({.batch = 2, .training = training, .synchronised_batch_norm = true});
    int norms = 0;
    for (const graph::Node& node : model.graph.nodes()) {
      const auto* norm = dynamic_cast<const ops::BatchNorm*>(node.op.get());
      if (norm == nullptr) continue;
      ++norms;
      EXPECT_EQ(norm->synchronised, training);
      EXPECT_EQ(norm->attributes().find("synchronised") != std::string::npos, training);
    }
    EXPECT_EQ(norms, 20);
  }
}

}  // namespace
}  // namespace syrtos::nn
