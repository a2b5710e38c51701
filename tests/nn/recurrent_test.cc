// Layers of sequences: shapes, names, and what they compute together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/nn/described.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/cpu/backend.h"
#include "tests/support/gradient_check.h"

namespace syrtos::nn {
namespace {

using ops::RecurrenceKind;
using testing::HasSubstr;

struct Built {
  graph::Graph graph;
  Builder builder{graph, DType::f32, true};
  ValueId x;

  explicit Built(const Shape& shape) : x(graph.add_input("x", {DType::f32, shape})) {}
  Shape after(const RecurrentOptions& options) {
    return graph.type(builder.recurrent("r", x, options)).shape;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& [name, initializer] : builder.initializers()) all.push_back(name);
    return all;
  }
};

TEST(Recurrent, HasTheShapesThatItPromises) {
  EXPECT_EQ(Built({2, 5, 3}).after({.units = 4}), (Shape{2, 5, 4}));
  EXPECT_EQ(Built({2, 5, 3}).after({.units = 4, .sequence = false}), (Shape{2, 4}));
  EXPECT_EQ(Built({2, 5, 3}).after({.units = 4, .bidirectional = true}), (Shape{2, 5, 8}));
  EXPECT_EQ(
      Built({2, 5, 3}).after({.units = 4, .layers = 3, .bidirectional = true, .sequence = false}),
      (Shape{2, 8}));
  EXPECT_EQ(Built({2, 1, 6, 3}).after({.units = 4}), (Shape{2, 6, 4})) << "rows of a picture";
  EXPECT_EQ(Built({2, 3, 1, 7}).after({.units = 4}), (Shape{2, 7, 4})) << "a signal";
}

TEST(Recurrent, NamesAndDividesItsParametersAsPyTorchDoes) {
  Built built({2, 5, 3});
  built.after({.kind = RecurrenceKind::gru, .units = 4, .layers = 2, .bidirectional = true});
  const std::vector<std::string> names = built.names();
  ASSERT_EQ(names.size(), 16U);
  EXPECT_EQ(names[0], "r.weight_ih_l0");
  EXPECT_EQ(names[3], "r.bias_hh_l0");
  EXPECT_EQ(names[4], "r.weight_ih_l0_reverse");
  EXPECT_EQ(names[8], "r.weight_ih_l1");
  const auto shape_of = [&](const char* name) {
    return built.graph.type(built.graph.find(name)).shape;
  };
  EXPECT_EQ(shape_of("r.weight_ih_l0"), (Shape{12, 3}));
  EXPECT_EQ(shape_of("r.weight_ih_l1"), (Shape{12, 8})) << "both directions of the layer below";
  EXPECT_EQ(shape_of("r.weight_hh_l1_reverse"), (Shape{12, 4}));
  EXPECT_EQ(shape_of("r.bias_ih_l1"), (Shape{12}));
}

TEST(Recurrent, RefusesWhatIsNoSequence) {
  Built built({2, 5});
  try {
    built.after({.units = 4});
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("expected a sequence [batch, steps, features]"));
  }
}

class RecurrentGradients : public testing::TestWithParam<RecurrenceKind> {};

TEST_P(RecurrentGradients, OfAStackBothWaysEqualFiniteDifferences) {
  for (const bool sequence : {false, true}) {
    Built built({2, 3, 2});
    const ValueId y = built.builder.recurrent(
        "r", built.x,
        {.kind = GetParam(), .units = 2, .layers = 2, .bidirectional = true, .sequence = sequence});
    const ValueId target = built.graph.add_input("target", built.graph.type(y));
    const ValueId loss = built.builder.half_squared_error(y, target);
    test::check_gradients(std::move(built.graph), loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecurrentGradients,
                         testing::Values(RecurrenceKind::rnn_tanh, RecurrenceKind::lstm,
                                         RecurrenceKind::gru));

const char* const kReader = R"({"name": "reader", "input": [6], "layers": [
  {"op": "embedding", "name": "e", "of": ["input"], "rows": 9, "out": 4},
  {"op": "gru", "name": "g", "of": ["e"], "out": 5, "layers": 2, "dropout": 0.5,
   "bidirectional": true},
  {"op": "lstm", "name": "l", "of": ["g"], "out": 3, "sequence": false},
  {"op": "linear", "name": "fc", "of": ["l"], "out": 2}]})";

TEST(DescribedSequences, AreWhatTheBuilderMakes) {
  const Network network = described_network(kReader);
  EXPECT_EQ(network.numbers_below(2), 9);
  const Model model = network.build(network.default_options());
  const auto gru = [](int64_t in, int64_t units) { return 3 * units * (in + units + 2); };
  EXPECT_EQ(parameter_count(model.graph),
            9 * 4 + 2 * gru(4, 5) + 2 * gru(10, 5) + 4 * 3 * (10 + 3 + 2) + (3 * 2 + 2));
}

TEST(DescribedSequences, RefuseWhatTheyDoNotKnow) {
  const auto refusal = [](const std::string& layer) -> std::string {
    try {
      const Network network = described_network(
          R"({"input": [4, 4], "layers": [{"name": "r", "of": ["input"], )" + layer + "}]}");
      network.build(network.default_options());
    } catch (const RequestError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(refusal(R"("op": "lstm", "out": 4, "activation": "relu")"), HasSubstr("activation"));
  EXPECT_THAT(refusal(R"("op": "rnn", "out": 4, "activation": "gelu")"), HasSubstr("tanh or relu"));
  EXPECT_THAT(refusal(R"("op": "gru", "out": 4, "dropout": 1)"), HasSubstr("below 1"));
  EXPECT_THAT(refusal(R"("op": "embedding", "out": 4)"), HasSubstr("rows"));
}

TEST(Embeddings, OfNumbersThatBf16DoesNotHoldAreRefused) {
  const Network network = described_network(
      R"({"input": [6], "layers": [
        {"op": "embedding", "name": "e", "of": ["input"], "rows": 300, "out": 4},
        {"op": "rnn", "name": "r", "of": ["e"], "out": 10, "sequence": false}]})");
  ModelOptions options = network.default_options();
  network.build(options);
  options.dtype = DType::bf16;
  EXPECT_THROW(network.build(options), RequestError);
}

// The loss of training is the mean over all positions: of each character after those before it.
TEST(CharLstm, LearnsEveryPositionOfAWindow) {
  ModelOptions options = {.batch = 2, .classes = 5, .channels = 1, .height = 1, .width = 4};
  const Model training = find_network("char-lstm").build(options);
  int losses = 0;
  for (const graph::Node& node : training.graph.nodes()) {
    losses += node.op->name() == "cross_entropy";
  }
  EXPECT_EQ(losses, 2) << "the last position and the others";

  test::Values given = test::random_values(training.graph, 3);
  const std::vector<double> text = {0, 3, 1, 4, 2, 2, 0, 1};
  given.at(training.images).values = text;
  given.at(training.targets).values = {3, 4};
  const test::Values computed = graph::evaluate_reference(training.graph, given);
  // Positions in pieces: the loss of the logits of each against its next character.
  ValueId logits = graph::kNone;
  for (const graph::Node& node : training.graph.nodes()) {
    if (training.graph.type(node.outputs[0]).shape == Shape{2, 4, 5}) logits = node.outputs[0];
  }
  ASSERT_NE(logits, graph::kNone);
  const ops::RefTensor& scores = computed.at(logits);
  const int next[] = {3, 1, 4, 3, 2, 0, 1, 4};
  double expected = 0;
  for (int64_t row = 0; row < 8; ++row) {
    double sum = 0;
    for (int64_t c = 0; c < 5; ++c) sum += std::exp(scores[row * 5 + c]);
    expected += (std::log(sum) - scores[row * 5 + next[row]]) / 8;
  }
  EXPECT_NEAR(computed.at(training.loss)[0], expected, 1e-6);
}

}  // namespace
}  // namespace syrtos::nn
