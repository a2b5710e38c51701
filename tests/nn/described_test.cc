#include "syrtos/nn/described.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "syrtos/base/error.h"
#include "syrtos/graph/reference.h"
#include "syrtos/nn/summary.h"
#include "syrtos/nn/zoo/zoo.h"

namespace syrtos::nn {
namespace {

using testing::HasSubstr;

std::string network_of(const std::string& layers, const std::string& input = "[1, 28, 28]") {
  return R"({"name": "small", "input": )" + input + R"(, "layers": [)" + layers + "]}";
}

std::string refusal(const std::string& text, bool build = true) {
  try {
    const Network network = described_network(text);
    if (build) network.build(network.default_options());
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

const char* const kLeNet5 = R"(
  {"op": "conv", "name": "conv1", "of": ["input"], "out": 6, "kernel": 5, "padding": 2},
  {"op": "tanh", "name": "t1", "of": ["conv1"]},
  {"op": "avg_pool", "name": "p1", "of": ["t1"]},
  {"op": "conv", "name": "conv2", "of": ["p1"], "out": 16, "kernel": [5, 5]},
  {"op": "tanh", "name": "t2", "of": ["conv2"]},
  {"op": "avg_pool", "name": "p2", "of": ["t2"], "kernel": 2, "stride": 2},
  {"op": "flatten", "name": "f", "of": ["p2"]},
  {"op": "linear", "name": "fc1", "of": ["f"], "out": 120},
  {"op": "tanh", "name": "t3", "of": ["fc1"]},
  {"op": "linear", "name": "fc2", "of": ["t3"], "out": 84},
  {"op": "tanh", "name": "t4", "of": ["fc2"]},
  {"op": "linear", "name": "fc3", "of": ["t4"]})";

TEST(DescribedNetwork, HasTheParametersOfTheSameNetworkOfTheZoo) {
  const Network described = described_network(network_of(kLeNet5));
  const Network known = zoo::lenet5();
  const Model model = described.build(described.default_options());
  const Model expected = known.build(known.default_options());
  EXPECT_EQ(parameter_count(model.graph), 61706);
  EXPECT_EQ(parameter_count(model.graph), parameter_count(expected.graph));
  EXPECT_EQ(multiply_adds(model.graph), multiply_adds(expected.graph));
  EXPECT_EQ(described.name(), "small");
  EXPECT_EQ(described.info().image(), (Shape{1, 28, 28}));
}

TEST(DescribedNetwork, HasAsManyOutputsAsThereAreClasses) {
  const Network network = described_network(network_of(kLeNet5));
  ModelOptions options = network.default_options();
  options.classes = 7;
  const Model model = network.build(options);
  EXPECT_EQ(model.graph.type(model.logits).shape, (Shape{1, 7}));
}

TEST(DescribedNetwork, JoinsBranches) {
  const std::string text = network_of(R"(
    {"op": "conv", "name": "a", "of": ["input"], "out": 4, "kernel": 3, "padding": "same"},
    {"op": "conv", "name": "b", "of": ["input"], "out": 4, "kernel": 1},
    {"op": "add", "name": "sum", "of": ["a", "b"]},
    {"op": "concat", "name": "both", "of": ["sum", "a", "b"]},
    {"op": "global_avg_pool", "name": "mean", "of": ["both"]},
    {"op": "linear", "name": "fc", "of": ["mean"], "out": 3})");
  const Network network = described_network(text);
  EXPECT_EQ(network.info().classes, 3);
  const Model model = network.build(network.default_options());
  // Kernels of 3x3 and 1x1 over one channel with their biases, and 12 to 3.
  EXPECT_EQ(parameter_count(model.graph), (4 * 9 + 4) + (4 + 4) + (12 * 3 + 3));
}

TEST(DescribedNetwork, NamesEveryLayerAsTheDescriptionDoes) {
  const Network network = described_network(network_of(kLeNet5));
  const ModelSummary summary = summarize(network.build(network.default_options()));
  std::vector<std::string> names;
  for (const LayerSummary& layer : summary.layers) names.push_back(layer.name);
  EXPECT_THAT(names, testing::ElementsAre("conv1", "t1", "p1", "conv2", "t2", "p2", "f", "fc1",
                                          "t3", "fc2", "t4", "fc3", testing::_));
}

TEST(DescribedNetwork, TakesFeaturesWithoutFlattening) {
  const Network network = described_network(
      network_of(R"({"op": "linear", "name": "fc", "of": ["input"], "out": 3})", "[20]"));
  EXPECT_EQ(network.info().image(), (Shape{1, 1, 20}));
  EXPECT_EQ(parameter_count(network.build(network.default_options()).graph), 63);
}

TEST(DescribedNetwork, TakesSeveralInputsFromOneRowAndGivesSeveralOutputs) {
  const Network network = described_network(R"({
    "inputs": [{"name": "picture", "shape": [2, 3, 3]}, {"name": "sound", "shape": [2, 5]},
               {"name": "age", "shape": [4]}],
    "layers": [{"op": "max_pool", "name": "p", "of": ["picture"], "kernel": 3},
               {"op": "max_pool", "name": "s", "of": ["sound"], "kernel": [1, 5]},
               {"op": "flatten", "name": "pf", "of": ["p"]},
               {"op": "flatten", "name": "sf", "of": ["s"]},
               {"op": "scale", "name": "a", "of": ["age"], "factor": 10}],
    "outputs": ["sf", "a", "pf"]})");
  EXPECT_EQ(network.info().image(), (Shape{1, 1, 18 + 10 + 4}));
  EXPECT_EQ(network.info().classes, 2 + 4 + 2);
  const Model model = network.build(network.default_options());
  ops::RefTensor row({1, 1, 1, 32});
  for (size_t i = 0; i < 32; ++i) row.values[i] = static_cast<double>(i);
  std::map<ValueId, ops::RefTensor> given{{model.images, row}};
  given[model.targets] = ops::RefTensor({1});
  EXPECT_THAT(graph::evaluate_reference(model.graph, given).at(model.logits).values,
              testing::ElementsAre(22, 27, 280, 290, 300, 310, 8, 17));
}

TEST(DescribedNetwork, InputsThatAreLargeLieInRowsOfOneLength) {
  EXPECT_EQ(packed_shape(8192), (Shape{1, 1, 8192}));
  EXPECT_EQ(packed_shape(8193), (Shape{1, 2, 8192}));
  const Network network = described_network(R"({
    "inputs": [{"name": "a", "shape": [3, 64, 64]}, {"name": "b", "shape": [1]}],
    "layers": [{"op": "global_avg_pool", "name": "m", "of": ["a"]},
               {"op": "concat", "name": "both", "of": ["m", "b"]}]})");
  EXPECT_EQ(network.info().image(), (Shape{1, 2, 8192}));
  ModelOptions options = network.default_options();
  options.classes = 4;
  const Model model = network.build(options);
  EXPECT_EQ(model.graph.type(model.logits).shape, (Shape{1, 4}));
}

TEST(DescribedNetwork, RefusesInputsAndOutputsThatAreNone) {
  const std::string layers = R"("layers": [{"op": "relu", "name": "r", "of": ["a"]}])";
  const auto says = [&](const std::string& rest, const char* part) {
    EXPECT_THAT(refusal("{" + rest + ", " + layers + "}"), HasSubstr(part)) << rest;
  };
  says(R"("inputs": [])", "list of names");
  says(R"("inputs": [{"name": "a", "shape": [0]}])", "list of names");
  says(R"("inputs": [{"name": "a", "shape": [1, 2, 3, 4]}])", "list of names");
  says(R"("inputs": [{"name": "a", "shape": [99999999, 99999999]}])", "list of names");
  says(R"("inputs": [{"name": "a", "shape": [2]}, {"name": "a", "shape": [2]}])", "each its own");
  says(R"("inputs": [{"name": "b", "shape": [2]}])", "'a'");
  says(R"("inputs": [{"name": "a", "shape": [2]}], "outputs": ["x"])", "names of layers");
  says(R"("inputs": [{"name": "a", "shape": [2]}], "outputs": [])", "names of layers");
  says(R"("inputs": [{"name": "a", "shape": [2]}], "input": [2])", "its input");
}

TEST(DescribedNetwork, NamesTheLayerAndBothShapesThatDoNotFit) {
  const std::string conv =
      R"({"op": "conv", "name": "c", "of": ["input"], "out": 4, "kernel": 3},)";
  EXPECT_THAT(refusal(network_of(conv + R"({"op": "linear", "name": "fc", "of": ["c"]})")),
              testing::AllOf(HasSubstr("fc (linear)"), HasSubstr("[batch, features]"),
                             HasSubstr("[batch, 4, 26, 26]")));
  EXPECT_THAT(refusal(network_of(conv + R"({"op": "add", "name": "s", "of": ["c", "input"]})")),
              testing::AllOf(HasSubstr("s (add)"), HasSubstr("[batch, 4, 26, 26] of c"),
                             HasSubstr("[batch, 1, 28, 28] of input")));
  EXPECT_THAT(
      refusal(network_of(R"({"op": "flatten", "name": "f", "of": ["input"]},
                                    {"op": "linear", "name": "fc", "of": ["f"], "out": 5},
                                    {"op": "relu", "name": "r", "of": ["fc"]})")),
      testing::AllOf(HasSubstr("r (relu)"), HasSubstr("[batch, 5]"), HasSubstr("[batch, 10]")));
}

TEST(DescribedNetwork, RefusesWhatIsNoNetwork) {
  const std::string relu = R"({"op": "relu", "name": "r", "of": ["input"]})";
  const auto says = [&](const std::string& text, const char* part) {
    EXPECT_THAT(refusal(text, false), HasSubstr(part)) << text;
  };
  says("", "JSON");
  says("[]", "JSON object");
  says("{}", "layers");
  says(network_of(""), "layers");
  says(network_of("3"), "layer 1");
  says(network_of(R"({"op": "relu"})"), "\"name\"");
  says(network_of(R"({"op": "relu", "name": "r"})"), "\"of\"");
  says(network_of(R"({"op": "relu", "name": "r", "of": [1]})"), "name of a layer");
  says(network_of(R"({"op": "relu", "name": "r", "of": []})"), "one input, found 0");
  says(network_of(R"({"op": "relu", "name": "r", "of": ["later"]}, )" + relu), "'later'");
  says(network_of(R"({"op": "rleu", "name": "r", "of": ["input"]})"), "or 'relu'?");
  says(network_of(R"({"op": "relu", "name": "r", "of": ["input"], "slope": 1})"), "'slope'");
  says(network_of(relu + "," + relu), "name of its own");
  says(network_of(R"({"op": "relu", "name": "input", "of": ["input"]})"), "name of its own");
  says(network_of(relu, "[1, 2, 3, 4]"), "its input");
  says(network_of(relu, "[0]"), "its input");
  says(network_of(relu, "[1e300]"), "its input");
  says(R"({"name": 3, "layers": []})", "name");
}

TEST(DescribedNetwork, LayersHaveTheWeightsOfAnotherOneWhereTheySaySo) {
  const std::string first = R"({"op": "linear", "name": "a", "of": ["input"], "out": 8})";
  const auto with = [&](const std::string& layer) {
    return network_of(first + "," + layer, "[8]");
  };
  const Network network = described_network(
      with(R"({"op": "linear", "name": "b", "of": ["a"], "out": 8, "weights": "a"})"));
  const Model model = network.build(network.default_options());
  EXPECT_EQ(parameter_count(model.graph), 8 * 8 + 8);
  std::map<std::string, int64_t> parameters;
  for (const LayerSummary& layer : summarize(model).layers) {
    parameters[layer.name] += layer.parameters;
  }
  EXPECT_EQ(parameters["a"], 8 * 8 + 8);
  EXPECT_EQ(parameters["b"], 0);
  const auto says = [&](const std::string& layer, const char* part) {
    EXPECT_THAT(refusal(with(layer)), HasSubstr(part)) << layer;
  };
  says(R"({"op": "linear", "name": "b", "of": ["a"], "out": 8, "weights": "c"})", "found 'c'");
  says(R"({"op": "linear", "name": "b", "of": ["a"], "out": 8, "weights": "b"})", "found 'b'");
  says(R"({"op": "linear", "name": "b", "of": ["a"], "out": 8, "weights": 1})", "\"weights\"");
  says(R"({"op": "linear", "name": "b", "of": ["a"], "out": 4, "weights": "a"})",
       "the same operation and attributes");
  says(R"({"op": "relu", "name": "b", "of": ["a"], "weights": "a"})", "a layer without");
  says(R"({"op": "linear", "name": "b", "of": ["a"], "out": 8, "weights": "a"},
          {"op": "linear", "name": "c", "of": ["b"], "out": 8, "weights": "b"})",
       "weights of its own");
}

TEST(DescribedNetwork, RefusesAttributesOutOfRange) {
  const auto conv = [](const std::string& attributes) {
    return network_of(R"({"op": "conv", "name": "c", "of": ["input"], )" + attributes + "}");
  };
  EXPECT_THAT(refusal(conv(R"("kernel": 3)")), HasSubstr("\"out\""));
  EXPECT_THAT(refusal(conv(R"("out": 0)")), HasSubstr("found 0"));
  EXPECT_THAT(refusal(conv(R"("out": 1e30)")), HasSubstr("whole number"));
  EXPECT_THAT(refusal(conv(R"("out": 2, "kernel": [1, 2, 3])")), HasSubstr("[height, width]"));
  EXPECT_THAT(refusal(conv(R"("out": 2, "padding": "some")")), HasSubstr("same, valid"));
  EXPECT_THAT(refusal(conv(R"("out": 2, "bias": 1)")), HasSubstr("true or false"));
  EXPECT_THAT(refusal(conv(R"("out": 2, "kernel": 40)")), HasSubstr("40x40"));
}

/// The output's shape of layers after an input, before a linear layer.
Shape shape_after(const std::string& layers, const std::string& last,
                  const std::string& input = "[6, 8, 4]") {
  const Network network =
      described_network(network_of(layers + R"(, {"op": "flatten", "name": "f", "of": [")" + last +
                                       R"("]}, {"op": "linear", "name": "fc", "of": ["f"]})",
                                   input));
  ModelOptions options = network.default_options();
  options.batch = 2;
  for (const LayerSummary& layer : summarize(network.build(options)).layers) {
    if (layer.name == last) return layer.output;
  }
  return {};
}

TEST(DescribedFunctions, HaveTheShapesThatTheyPromise) {
  const auto of = [](const std::string& op) {
    return shape_after(R"({"name": "x", "of": ["input"], "op": )" + op + "}", "x");
  };
  for (const char* op : {"leaky_relu", "elu", "softplus", "hard_sigmoid", "hard_swish", "silu",
                         "clip", "exp", "log", "sqrt", "abs", "softmax", "log_softmax",
                         "layer_norm", "group_norm", "prelu", "positions"}) {
    EXPECT_EQ(of('"' + std::string(op) + '"'), (Shape{6, 8, 4})) << op;
  }
  EXPECT_EQ(of(R"("mean", "axes": [2, 3])"), (Shape{6}));
  EXPECT_EQ(of(R"("sum", "axes": -1, "keep": true)"), (Shape{6, 8, 1}));
  EXPECT_EQ(of(R"("reshape", "shape": [-1, 16])"), (Shape{12, 16}));
  EXPECT_EQ(of(R"("transpose", "order": [3, 1, 2])"), (Shape{4, 6, 8}));
  EXPECT_EQ(of(R"("slice", "axis": 2, "start": 1, "end": -2)"), (Shape{6, 5, 4}));
  EXPECT_EQ(of(R"("upsample", "scale": 3)"), (Shape{6, 24, 12}));
  EXPECT_EQ(of(R"("conv_transpose", "out": 4, "kernel": 3, "stride": 2, "padding": 1,
                  "output_padding": 1, "groups": 2)"),
            (Shape{4, 16, 8}));
}

TEST(DescribedFunctions, OfTwoValuesFitOrSayWhyNot) {
  const std::string both = R"(
    {"op": "reshape", "name": "rows", "of": ["input"], "shape": [6, 32]},
    {"op": "transpose", "name": "columns", "of": ["rows"], "order": [2, 1]},
    {"op": "mean", "name": "mean", "of": ["rows"], "axes": 2, "keep": true},)";
  const auto of = [&](const std::string& op, const std::string& a, const std::string& b) {
    return both + R"({"name": "x", "of": [")" + a + R"(", ")" + b + R"("], "op": ")" + op + "\"}";
  };
  EXPECT_EQ(shape_after(of("matmul", "rows", "columns"), "x"), (Shape{6, 6}));
  for (const char* op : {"subtract", "multiply", "divide", "minimum", "maximum"}) {
    EXPECT_EQ(shape_after(of(op, "rows", "mean"), "x"), (Shape{6, 32})) << op;
  }
  const auto refused = [&](const std::string& layer) {
    return refusal(network_of(layer, "[6, 8, 4]"));
  };
  EXPECT_THAT(refused(of("matmul", "rows", "rows")), HasSubstr("[batch, 6, 32]"));
  EXPECT_THAT(refused(of("subtract", "rows", "columns")), HasSubstr("[batch, 32, 6]"));
  const auto one = [&](const std::string& op) {
    return refused(R"({"name": "x", "of": ["input"], "op": )" + op + "}");
  };
  EXPECT_THAT(one(R"("reshape", "shape": [7, -1])"), HasSubstr("192 values"));
  EXPECT_THAT(one(R"("reshape", "shape": [-1, -1])"), HasSubstr("-1 at most"));
  EXPECT_THAT(one(R"("reshape", "shape": [2147483648, 2147483648, 2147483648])"),
              HasSubstr("shape"));
  EXPECT_THAT(one(R"("transpose", "order": [1, 1, 2])"), HasSubstr("each of 1, 2, 3 once"));
  EXPECT_THAT(one(R"("mean", "axes": 0)"), HasSubstr("axis"));
  EXPECT_THAT(one(R"("mean")"), HasSubstr("expected axes"));
  EXPECT_THAT(one(R"("slice", "axis": 1, "start": 6)"), HasSubstr("axis 1"));
  EXPECT_THAT(one(R"("group_norm", "groups": 4)"), HasSubstr("6 channels"));
  EXPECT_THAT(one(R"("upsample", "mode": "cubic")"), HasSubstr("nearest or linear"));
  EXPECT_THAT(one(R"("clip", "least": 2, "most": 1)"), HasSubstr("least"));
}

TEST(DescribedFunctions, HaveTheParametersOfAnAttention) {
  const std::string layers = R"(
    {"op": "reshape", "name": "tokens", "of": ["input"], "shape": [6, 32]},
    {"op": "positions", "name": "where", "of": ["tokens"]},
    {"op": "linear", "name": "q", "of": ["where"], "out": 16},
    {"op": "layer_norm", "name": "norm", "of": ["q"]},
    {"op": "mean", "name": "mean", "of": ["norm"], "axes": 1},
    {"op": "linear", "name": "fc", "of": ["mean"]})";
  const Network network = described_network(network_of(layers, "[6, 8, 4]"));
  const Model model = network.build(network.default_options());
  EXPECT_EQ(parameter_count(model.graph), 6 * 32 + (32 * 16 + 16) + 2 * 16 + (16 * 10 + 10));
}

}  // namespace
}  // namespace syrtos::nn
