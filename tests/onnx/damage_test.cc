// Files that were cut, damaged, or made to do harm: whatever they hold, they are refused in words
// or read, within bounded time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "syrtos/base/error.h"
#include "syrtos/onnx/fold.h"
#include "syrtos/onnx/network.h"
#include "tests/onnx/every_operator.h"
#include "tests/support/mutator.h"
#include "tests/support/temporary.h"

namespace syrtos::onnx {
namespace {

using testing::HasSubstr;
using List = std::vector<int64_t>;

class OnnxDamage : public TemporaryDirectory {
 protected:
  static std::string refusal_of(const MadeModel& made) {
    return refusal([&] {
      const nn::Network network = network_of(made.bytes(), "x.onnx");
      network.build(network.default_options());
    });
  }
};

TEST_F(OnnxDamage, IsTriedOnEveryOperator) {
  std::set<std::string, std::less<>> there;
  for (const Node& node : parse(EveryOperator::make().bytes(), "every.onnx").nodes) {
    there.insert(node.operation);
  }
  for (const Rules* rules : {&window_rules(), &dense_rules(), &norm_rules(), &pointwise_rules(),
                             &shape_rules(), &resize_rules(), &number_folds(), &shape_folds()}) {
    for (const auto& [operation, rule] : *rules)
      EXPECT_TRUE(there.contains(operation)) << operation;
  }
}

TEST_F(OnnxDamage, CutAnywhereIsRefused) {
  for (const std::string& bytes : {small_classifier().bytes(), EveryOperator::make().bytes()}) {
    const size_t step = 1 + bytes.size() / 1500;
    for (size_t length = 0; length < bytes.size(); length += step) {
      const std::string text =
          refusal([&] { network_of(bytes.substr(0, length), "cut.onnx").build({}); });
      EXPECT_THAT(text, HasSubstr("cut.onnx")) << length;
    }
  }
}

/// Building it and reading its weights ends, in words or well.
void expect_no_harm(const std::string& bytes, const std::filesystem::path& file) {
  try {
    const nn::Network network = network_of(bytes, "damaged.onnx");
    nn::ModelOptions options = network.default_options();
    for (const int64_t batch : {1, 3}) {
      options.batch = batch;
      try {
        network.build(options);
      } catch (const Error&) {  // the other batch may do
      }
    }
    const WeightsFile weights(file);
    for (const std::string& name : weights.names()) weights.read(name);
  } catch (const Error&) {
    // Refused, or more than this machine has: both are right.
  }
}

TEST_F(OnnxDamage, OfAnyByteDoesNoHarm) {
  const std::string small = small_classifier().bytes();
  const std::string every = EveryOperator::make().bytes();
  for (uint32_t round = 0; round < 4000; ++round) {
    Mutator mutator(17, round);
    const std::string damaged = round % 2 == 0 ? mutator.damage(small, every)  //
                                               : mutator.damage(every, small);
    SCOPED_TRACE(round);
    expect_no_harm(damaged, write("damaged.onnx", damaged));
  }
}

/// What shapes, sizes and amounts overflow with.
int64_t extreme(Mutator& mutator) {
  constexpr std::array<int64_t, 16> kNumbers = {0,
                                                1,
                                                -1,
                                                2,
                                                7,
                                                1000,
                                                -1000,
                                                int64_t{1} << 20,
                                                int64_t{1} << 31,
                                                int64_t{1} << 40,
                                                int64_t{1} << 61,
                                                int64_t{1} << 62,
                                                -(int64_t{1} << 40),
                                                -(int64_t{1} << 62),
                                                std::numeric_limits<int64_t>::max(),
                                                std::numeric_limits<int64_t>::min()};
  return kNumbers[mutator.below(kNumbers.size())];
}

template <typename List>
auto& any_of(List& list, Mutator& mutator) {
  return list[static_cast<int>(mutator.below(static_cast<size_t>(list.size())))];
}

/// As of a file that came without its weights: whatever shape it says, no values contradict it.
void leave_out(::onnx::TensorProto& tensor, Mutator& mutator) {
  tensor.clear_raw_data();
  tensor.set_data_location(::onnx::TensorProto::EXTERNAL);
  if (tensor.dims_size() > 0 && mutator.below(2) == 0) {
    any_of(*tensor.mutable_dims(), mutator) = extreme(mutator);
  }
  if (mutator.below(4) == 0) tensor.add_dims(extreme(mutator));
}

/// Another number, another length, another operator or other inputs, weights that are elsewhere:
/// what is still a file.
void disarrange(::onnx::GraphProto& graph, Mutator& mutator) {
  auto& node = any_of(*graph.mutable_node(), mutator);
  auto& tensor = any_of(*graph.mutable_initializer(), mutator);
  const bool whole = tensor.int64_data_size() > 0;
  switch (mutator.below(8)) {
    case 0:
      if (whole) any_of(*tensor.mutable_int64_data(), mutator) = extreme(mutator);
      return;
    case 1:
      if (!whole) return;
      tensor.clear_dims();
      if (mutator.below(2) == 0) tensor.clear_int64_data();
      if (mutator.below(3) != 0) tensor.add_dims(tensor.int64_data_size());
      return;
    case 2: {
      if (node.attribute_size() == 0) return;
      auto& attribute = any_of(*node.mutable_attribute(), mutator);
      attribute.set_i(extreme(mutator));
      if (attribute.ints_size() > 0) any_of(*attribute.mutable_ints(), mutator) = extreme(mutator);
      return;
    }
    case 3:
      node.set_op_type(any_of(*graph.mutable_node(), mutator).op_type());
      return;
    case 4:
      if (node.input_size() == 0) return;
      any_of(*node.mutable_input(), mutator) = mutator.below(2) == 0 ? tensor.name() : "images";
      return;
    case 5:
    case 6:
      if (!whole) leave_out(tensor, mutator);
      return;
    default:
      if (node.input_size() > 1) node.mutable_input()->RemoveLast();
  }
}

TEST_F(OnnxDamage, OfAnyNumberDoesNoHarm) {
  for (uint32_t round = 0; round < 1500; ++round) {
    Mutator mutator(18, round);
    MadeModel made = EveryOperator::make();
    if (mutator.below(4) == 0) made.model.mutable_opset_import(0)->set_version(11);
    for (uint32_t times = 1 + mutator.below(3); times > 0; --times) {
      disarrange(made.graph(), mutator);
    }
    SCOPED_TRACE(round);
    const std::string damaged = made.bytes();
    expect_no_harm(damaged, write("damaged.onnx", damaged));
  }
}

/// One operator on images [batch, 3, 16, 16] that the file says how to change.
MadeModel with(const std::string& operation, const std::vector<List>& numbers,
               const std::string& mode = "constant") {
  MadeModel made;
  made.input("x", {0, 3, 16, 16});
  std::vector<std::string> inputs = {"x"};
  for (const List& values : numbers) {
    inputs.push_back("n" + std::to_string(inputs.size()));
    made.integers(inputs.back(), values);
  }
  MadeModel::set(made.node(operation, inputs, {"a"}), "mode", mode);
  made.node("GlobalAveragePool", {"a"}, {"b"});
  made.node("Flatten", {"b"}, {"logits"});
  made.output("logits", {0, 3});
  return made;
}

TEST_F(OnnxDamage, OfSizesIsRefusedBeforeTheyOverflow) {
  const int64_t huge = int64_t{1} << 62;
  EXPECT_THAT(refusal_of(with("Pad", {{0, 0, 0, 0, 0, 0, huge, 0}})),
              HasSubstr("[pad] expected at most"));
  EXPECT_THAT(refusal_of(with("Pad", {{0, 0, 0, 0, 0, 0, 0, int64_t{1} << 40}}, "edge")),
              HasSubstr("[pad] expected at most"));
  EXPECT_THAT(refusal_of(with("Pad", {{0, 0, 1 << 30, 0, 0, 0, 1 << 30, 0}})),
              HasSubstr("was accepted"));
  EXPECT_THAT(refusal_of(with("Expand", {{1 << 20, 1 << 20, 1, 3, 16, 16}})),
              HasSubstr("[broadcast] expected a result of positive extents"));
  EXPECT_THAT(refusal_of(with("Clip", {{}})), HasSubstr("expected a limit, one number, found 0"));
  EXPECT_THAT(refusal_of(with("Split", {{huge, huge, huge, huge, 3}})),
              HasSubstr("expected parts that fill"));
  EXPECT_THAT(refusal_of(with("Pad", {{0, 0, 0, 0, 0, 0, 1, 0}, {}})),
              HasSubstr("expected a value, one number, found 0"));
}

TEST_F(OnnxDamage, OfManyNumbersIsRefused) {
  MadeModel made;
  made.input("x", {0, 4});
  made.integers("shape", {1 << 24});
  made.node("ConstantOfShape", {"shape"}, {"v0"});
  for (int i = 1; i < 40; ++i) {
    made.node("Neg", {"v" + std::to_string(i - 1)}, {"v" + std::to_string(i)});
  }
  made.node("ReduceMax", {"v39"}, {"most"});
  made.node("Add", {"x", "most"}, {"logits"});
  made.output("logits", {0, 4});
  EXPECT_THAT(refusal_of(made), HasSubstr("numbers that are computed from constants"));
}

TEST_F(OnnxDamage, OfScalarsIsRefused) {
  for (const std::string operation : {"Concat", "Gather"}) {
    MadeModel made;
    made.input("x", {0, 4});
    made.integers("a", {5});
    made.graph().mutable_initializer(0)->clear_dims();
    MadeModel::set(made.node(operation, {"a", "a"}, {"b"}), "axis", int64_t{0});
    made.node("Reshape", {"x", "b"}, {"logits"});
    made.output("logits", {0, 4});
    EXPECT_THAT(refusal_of(made), HasSubstr("expected an axis of 0 of them"));
  }
  for (const List& order : {List{1000000}, List{0}, List{-1}}) {
    MadeModel made;
    made.input("x", {0, 4});
    made.integers("a", {5});
    made.graph().mutable_initializer(0)->clear_dims();
    MadeModel::set(made.node("Transpose", {"a"}, {"b"}), "perm", order);
    made.node("Mul", {"x", "b"}, {"logits"});
    made.output("logits", {0, 4});
    EXPECT_THAT(refusal_of(made), HasSubstr("expected an order of 0 axes"));
  }
}

TEST_F(OnnxDamage, OfWeightsWithoutElementsIsRefused) {
  const std::vector<std::vector<std::string>> calls = {
      {"Softmax", "w"},     {"MatMul", "x", "w"}, {"MatMul", "w", "x"},
      {"Gemm", "x", "w"},   {"Add", "x", "w"},    {"Conv", "x", "w"},
      {"Concat", "x", "w"}, {"ReduceMean", "w"},  {"Transpose", "w"},
      {"Flatten", "w"},     {"Split", "w"},       {"Gather", "w", "x"},
      {"PRelu", "x", "w"},  {"MaxPool", "w"},     {"LayerNormalization", "x", "w"},
  };
  for (const auto& [external, opset] :
       {std::pair(true, 11), std::pair(true, 17), std::pair(false, 17)}) {
    for (const List& shape : {List{0}, List{4, 0}, List{0, 4}, List{2, 0, 4}}) {
      for (const std::vector<std::string>& call : calls) {
        MadeModel made(opset);
        made.input("x", {0, 3, 4});
        auto& weight = made.weight("w", shape);
        if (external) weight.set_data_location(::onnx::TensorProto::EXTERNAL);
        made.node(call[0], {call.begin() + 1, call.end()}, {"a"});
        made.node("Add", {"x", "a"}, {"logits"});
        made.output("logits", {0, 4});
        EXPECT_NE(refusal_of(made), "was accepted") << call[0];
      }
    }
  }
}

}  // namespace
}  // namespace syrtos::onnx
