#include "syrtos/onnx/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/error.h"
#include "syrtos/graph/graph.h"
#include "syrtos/graph/reference.h"
#include "tests/onnx/made_model.h"
#include "tests/support/gradient_check.h"

namespace syrtos::onnx {
namespace {

using testing::AllOf;
using testing::HasSubstr;

nn::Network small() { return network_of(small_classifier().bytes(), "small.onnx"); }

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const RequestError& error) {
    return error.what();
  }
  return "was accepted";
}

Shape logits_of(const nn::Model& model) { return model.graph.type(model.logits).shape; }

TEST(OnnxNetwork, KnowsItsNameInputAndClasses) {
  const nn::Network network = network_of(small_classifier().bytes(), "/somewhere/small.onnx");
  EXPECT_EQ(network.name(), "small.onnx");
  EXPECT_EQ(network.info().image(), (Shape{1, 8, 8}));
  EXPECT_EQ(network.info().classes, 3);
  EXPECT_EQ(network.file()->path, "/somewhere/small.onnx");
}

TEST(OnnxNetwork, IsBuiltForAnyBatchAndImageSize) {
  const nn::Network network = small();
  EXPECT_EQ(
      logits_of(network.build({.batch = 5, .classes = 3, .channels = 1, .height = 8, .width = 8})),
      (Shape{5, 3}));
  EXPECT_THAT(refusal([&] {
                network.build({.batch = 5, .classes = 3, .channels = 1, .height = 16, .width = 8});
              }),
              AllOf(HasSubstr("node logits_node (Gemm)"), HasSubstr("[5, 32] and [3, 16]"),
                    HasSubstr("another size")));
  EXPECT_THAT(refusal([&] {
                network.build({.batch = 8, .classes = 3, .channels = 1, .height = 3, .width = 3});
              }),
              HasSubstr("small.onnx needs images of at least"));
}

TEST(OnnxNetwork, ReplacesTheBatchThatItWasExportedWith) {
  MadeModel made = small_classifier();
  // The exporter computed the shape: batch and all.
  made.integers("fixed", {1, 16});
  for (::onnx::NodeProto& node : *made.graph().mutable_node()) {
    if (node.op_type() == "Reshape") node.set_input(1, "fixed");
  }
  const nn::Network network = network_of(made.bytes(), "small.onnx");
  EXPECT_EQ(
      logits_of(network.build({.batch = 7, .classes = 3, .channels = 1, .height = 8, .width = 8})),
      (Shape{7, 3}));
}

TEST(OnnxNetwork, GetsANewHeadForAnotherNumberOfClasses) {
  const nn::Model model =
      small().build({.batch = 2, .classes = 10, .channels = 1, .height = 8, .width = 8});
  EXPECT_EQ(logits_of(model), (Shape{2, 10}));
  std::map<std::string, Shape> shapes;
  for (const graph::Value& value : model.graph.values()) shapes[value.name] = value.type.shape;
  EXPECT_EQ(shapes["fc.weight"], (Shape{10, 16}));
  EXPECT_EQ(shapes["fc.bias"], (Shape{10}));
}

TEST(OnnxNetwork, TrainsWithBatchNormAndDropoutInTrainingMode) {
  const nn::ModelOptions options{.batch = 2, .classes = 3, .channels = 1, .height = 8, .width = 8};
  nn::ModelOptions evaluation = options;
  evaluation.training = false;
  const auto attributes = [](const nn::Model& model) {
    for (const graph::Node& node : model.graph.nodes()) {
      if (node.op->name() == "batch_norm") return node.op->attributes();
    }
    return std::string("none");
  };
  EXPECT_NE(attributes(small().build(options)), attributes(small().build(evaluation)));
}

TEST(OnnxNetwork, LeavesTheLastSoftmaxToTheLoss) {
  MadeModel made = small_classifier();
  made.node("Softmax", {"logits"}, {"probabilities"});
  made.graph().mutable_output(0)->set_name("probabilities");
  const nn::Model model = network_of(made.bytes(), "small.onnx")
                              .build({.batch = 2,
                                      .classes = 3,
                                      .channels = 1,
                                      .height = 8,
                                      .width = 8,
                                      .training = false});
  for (const graph::Node& node : model.graph.nodes()) EXPECT_NE(node.op->name(), "softmax");
}

TEST(OnnxNetwork, NamesAllMissingOperatorsAtOnce) {
  MadeModel made = small_classifier();
  made.node("NonZero", {"a"}, {"n1"});
  made.node("NonZero", {"a"}, {"n2"});
  made.node("Loop", {"a"}, {"l1"});
  made.node("Gru", {"a"}, {"g1"}).set_domain("com.example");
  EXPECT_THAT(refusal([&] { network_of(made.bytes(), "x.onnx").build({}); }),
              AllOf(HasSubstr("3 of its operators are not supported"),
                    HasSubstr("NonZero (n1_node, n2_node)"), HasSubstr("Loop (l1_node)"),
                    HasSubstr("com.example.Gru (g1_node)")));
}

TEST(OnnxNetwork, TakesImagesWithChannelsLast) {
  MadeModel made;
  made.input("images", {0, 16, 12, 3});
  made.weight("w", {4, 3, 3, 3});
  made.weight("fc", {4, 5});
  auto& first = made.node("Transpose", {"images"}, {"a"});
  MadeModel::set(first, "perm", std::vector<int64_t>{0, 3, 1, 2});
  made.node("Conv", {"a", "w"}, {"b"});
  made.node("GlobalAveragePool", {"b"}, {"c"});
  made.node("Flatten", {"c"}, {"d"});
  made.node("MatMul", {"d", "fc"}, {"logits"});
  made.output("logits", {0, 5});
  const nn::Network network = network_of(made.bytes(), "last.onnx");
  EXPECT_EQ(network.info().image(), (Shape{3, 16, 12}));
  nn::ModelOptions options = network.default_options();
  options.batch = 2;
  EXPECT_EQ(logits_of(network.build(options)), (Shape{2, 5}));
}

TEST(OnnxNetwork, PassesGradientsThroughTheStatisticsOfLayerNorm) {
  for (const std::string used : {"mean", "scale"}) {
    MadeModel made;
    made.input("x", {0, 5});
    made.weight("w", {5, 4});
    made.weight("gamma", {4}, 0.02F, 1);
    made.weight("beta", {4});
    made.node("MatMul", {"x", "w"}, {"a"});
    made.node("LayerNormalization", {"a", "gamma", "beta"}, {"b", "mean", "scale"});
    made.node("Mul", {"b", used}, {"logits"});
    made.output("logits", {0, 4});
    const nn::Network network = network_of(made.bytes(), "norm.onnx");
    nn::ModelOptions options = network.default_options();
    options.batch = 3;
    const nn::Model forward = network.build(options);
    graph::Graph backward = forward.graph;
    graph::add_gradients(backward, forward.loss);
    test::Values values = test::random_values(backward, 5);
    const auto found = graph::evaluate_reference(backward, values);
    ASSERT_EQ(backward.gradients().size(), 3U);
    for (const auto& [parameter, gradient] : backward.gradients()) {
      for (int64_t i = 0; i < forward.graph.type(parameter).shape.elements(); ++i) {
        EXPECT_NEAR(found.at(gradient)[i],
                    test::finite_difference(forward.graph, forward.loss, values, parameter, i),
                    1e-7)
            << used << ": " << forward.graph.value(parameter).name << " " << i;
      }
    }
  }
}

/// A file whose images are reshaped to what a node makes of known numbers.
Shape reshaped_by(const std::function<void(MadeModel&)>& add) {
  MadeModel made;
  made.input("x", {0, 3, 4, 4});
  add(made);
  made.node("Reshape", {"x", "shape"}, {"a"});
  made.node("Flatten", {"a"}, {"b"});
  made.weight("w", {48, 2});
  made.node("MatMul", {"b", "w"}, {"logits"});
  made.output("logits", {0, 2});
  const nn::Network network = network_of(made.bytes(), "shape.onnx");
  const nn::Model model = network.build(network.default_options());
  for (const graph::Node& node : model.graph.nodes()) {
    if (node.name == "a_node") return model.graph.type(node.outputs[0]).shape;
  }
  return {};
}

TEST(OnnxNetwork, ComputesShapesBeforehand) {
  EXPECT_EQ(reshaped_by([](MadeModel& made) {
              made.integers("n", {0, 3, 16});
              auto& sum = made.node("ReduceSum", {"n"}, {"shape"});
              MadeModel::set(sum, "noop_with_empty_axes", int64_t{1});
            }),
            (Shape{1, 3, 16}));
  EXPECT_EQ(reshaped_by([](MadeModel& made) {
              made.integers("n", {0, -3, -16});
              made.integers("minus", {-1});
              made.node("Div", {"n", "minus"}, {"shape"});
            }),
            (Shape{1, 3, 16}));
  EXPECT_EQ(reshaped_by([](MadeModel& made) {
              made.integers("n", {0, 1, 16});
              made.integers("one", {1});
              made.integers("other", {0, 3, 2});
              made.node("Max", {"n", "other", "n"}, {"most"});
              made.node("Mod", {"most", "minus"}, {"nothing"});
              made.node("Sub", {"most", "nothing"}, {"shape"});
              made.integers("minus", {-1});
            }),
            (Shape{1, 3, 16}));
  EXPECT_EQ(
      reshaped_by([](MadeModel& made) {
        made.node("Shape", {"x"}, {"all"});
        made.node("Split", {"all"}, {"front", "back"});
        made.node("ReduceProd", {"back"}, {"pixels"});
        MadeModel::set(made.node("Concat", {"front", "pixels"}, {"shape"}), "axis", int64_t{0});
      }),
      (Shape{1, 3, 16}));
}

TEST(OnnxNetwork, OfTwoInputsIsRefused) {
  MadeModel made = small_classifier();
  made.input("more", {1, 3});
  EXPECT_THAT(refusal([&] { network_of(made.bytes(), "x.onnx"); }),
              HasSubstr("expected one input, the images, found 2 (images, more)"));
}

TEST(OnnxNetwork, IsTheSameWhenItArrivesWithoutWeights) {
  const nn::Network before = small();
  const nn::Network after = network_of(before.file()->bytes, before.file()->path);
  EXPECT_EQ(after.file()->bytes, before.file()->bytes);
  const nn::ModelOptions options = before.default_options();
  EXPECT_EQ(before.build(options).graph.nodes().size(), after.build(options).graph.nodes().size());
}

}  // namespace
}  // namespace syrtos::onnx
