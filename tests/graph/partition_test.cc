// A graph in parts: whatever the graph and whatever the parts, together they compute what the whole
// does, to the last bit, and nobody waits for ever.

#include "syrtos/graph/partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "syrtos/base/error.h"
#include "syrtos/graph/passes.h"
#include "syrtos/ops/activation.h"
#include "syrtos/ops/arithmetic.h"
#include "syrtos/ops/part_exchange.h"
#include "tests/support/gradient_check.h"
#include "tests/support/make_ops.h"
#include "tests/support/random_network.h"

namespace syrtos::test {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::ValueId;
using graph::ValueKind;
using testing::HasSubstr;

TensorType f32(Shape shape) { return {DType::f32, shape}; }

/// What all parts leave behind, by name.
struct Results {
  std::map<std::string, ops::RefTensor> outputs;
  std::map<std::string, ops::RefTensor> gradients;
  int messages = 0;
};

void expect_equal(const std::map<std::string, ops::RefTensor>& found,
                  const std::map<std::string, ops::RefTensor>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_EQ(found.at(name).shape, tensor.shape) << name;
    EXPECT_EQ(found.at(name).values, tensor.values) << name;
  }
}

void take_results(const Graph& graph, const Values& values, Results& results) {
  for (const auto& [name, id] : graph.outputs()) {
    EXPECT_TRUE(results.outputs.emplace(name, values.at(id)).second) << name << " twice";
  }
  for (const graph::ParameterGradient& pair : graph.gradients()) {
    const std::string& name = graph.value(pair.parameter).name;
    EXPECT_TRUE(results.gradients.emplace(name, values.at(pair.gradient)).second)
        << name << " twice";
  }
}

/// Parts that send each other what they compute.
class Together {
 public:
  Together(const std::vector<Graph>& parts, const std::map<std::string, ops::RefTensor>& given)
      : parts_(parts), values_(parts.size()), at_(parts.size()) {
    for (size_t part = 0; part < parts.size(); ++part) {
      for (size_t id = 0; id < parts[part].values().size(); ++id) {
        const graph::Value& value = parts[part].values()[id];
        if (value.kind == ValueKind::computed) continue;
        values_[part].emplace(static_cast<ValueId>(id), given.at(value.name));
      }
    }
  }

  Results run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t part = 0; part < parts_.size(); ++part) moved = run(part) || moved;
    }
    Results results;
    for (size_t part = 0; part < parts_.size(); ++part) {
      EXPECT_EQ(at_[part], parts_[part].nodes().size()) << "part " << part << " waits for ever";
      if (testing::Test::HasFailure()) return results;
      take_results(parts_[part], values_[part], results);
    }
    EXPECT_TRUE(mail_.empty()) << "nobody has received " << mail_.size() << " messages";
    results.messages = messages_;
    return results;
  }

 private:
  /// As far as this part comes; false: nowhere.
  bool run(size_t part) {
    const size_t before = at_[part];
    for (; at_[part] < parts_[part].nodes().size(); ++at_[part]) {
      const Node& node = parts_[part].nodes()[at_[part]];
      if (const auto* receive = dynamic_cast<const ops::Receive*>(node.op.get())) {
        const auto letter = mail_.find({receive->peer, static_cast<int>(part), receive->message});
        if (letter == mail_.end()) break;
        for (size_t i = 0; i < node.outputs.size(); ++i) {
          values_[part].emplace(node.outputs[i], letter->second[i]);
        }
        mail_.erase(letter);
        continue;
      }
      std::vector<ops::RefTensor> inputs;
      for (const ValueId input : node.inputs) {
        inputs.push_back(input == kNone ? ops::RefTensor() : values_[part].at(input));
      }
      if (const auto* send = dynamic_cast<const ops::Send*>(node.op.get())) {
        EXPECT_TRUE(
            mail_.emplace(std::tuple{static_cast<int>(part), send->peer, send->message}, inputs)
                .second);
        ++messages_;
        continue;
      }
      std::vector<ops::RefTensor> outputs;
      for (const ValueId output : node.outputs) {
        outputs.emplace_back(parts_[part].type(output).shape);
      }
      node.op->reference(inputs, outputs, {});
      for (size_t i = 0; i < outputs.size(); ++i)
        values_[part].emplace(node.outputs[i], outputs[i]);
    }
    return at_[part] > before;
  }

  const std::vector<Graph>& parts_;
  std::vector<Values> values_;
  std::vector<size_t> at_;  // node of each part that comes next
  std::map<std::tuple<int, int, int>, std::vector<ops::RefTensor>> mail_;
  int messages_ = 0;
};

std::map<std::string, ops::RefTensor> by_name(const Graph& graph, const Values& values) {
  std::map<std::string, ops::RefTensor> given;
  for (const auto& [id, tensor] : values) given.emplace(graph.value(id).name, tensor);
  return given;
}

/// Compares the parts with the whole; returns how many messages crossed.
int expect_same(const Graph& whole, const std::vector<Graph>& parts, uint32_t seed) {
  const Values values = random_values(whole, seed);
  Results expected;
  take_results(whole, graph::evaluate_reference(whole, values), expected);
  const Results found = Together(parts, by_name(whole, values)).run();
  expect_equal(found.outputs, expected.outputs);
  expect_equal(found.gradients, expected.gradients);
  return found.messages;
}

class Partition : public testing::TestWithParam<int> {};

TEST_P(Partition, OfAnyNetworkIntoAnyPartsComputesWhatTheWholeDoes) {
  const int parts = GetParam();
  int messages = 0;
  for (uint32_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNetwork network(seed);
    const std::vector<int> part_of =
        seed % 3 == 0 ? network.consecutive_parts(parts) : network.random_parts(parts);
    Graph whole = network.whole;
    const std::vector<NodeId> origins = graph::add_gradients(whole, network.loss);
    messages += expect_same(
        whole, graph::partition(whole, graph::with_gradients(part_of, origins), parts), seed);
    if (HasFailure()) return;
  }
  EXPECT_EQ(messages > 0, parts > 1);
}

TEST_P(Partition, WithoutGradientsComputesTheSameToo) {
  for (uint32_t seed = 1001; seed <= 1200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNetwork network(seed);
    const std::vector<int> part_of = network.random_parts(GetParam());
    expect_same(network.whole, graph::partition(network.whole, part_of, GetParam()), seed);
    if (HasFailure()) return;
  }
}

/// The passes change nodes around what is sent and received.
TEST_P(Partition, OptimisedPartsComputeNearlyTheSame) {
  for (uint32_t seed = 2001; seed <= 2100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomNetwork network(seed);
    const std::vector<int> part_of = network.random_parts(GetParam());
    Graph whole = network.whole;
    const auto origins = graph::add_gradients(whole, network.loss);
    auto parts = graph::partition(whole, graph::with_gradients(part_of, origins), GetParam());
    for (Graph& part : parts) graph::optimise(part);
    const Values values = random_values(whole, seed);
    Results expected;
    take_results(whole, graph::evaluate_reference(whole, values), expected);
    const Results found = Together(parts, by_name(whole, values)).run();
    ASSERT_EQ(found.gradients.size(), expected.gradients.size());
    for (const auto& [name, gradient] : expected.gradients) {
      for (int64_t i = 0; i < gradient.shape.elements(); ++i) {
        ASSERT_NEAR(found.gradients.at(name)[i], gradient[i], 1e-9 + 1e-9 * std::abs(gradient[i]))
            << name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, Partition, testing::Range(1, 9));

std::vector<std::string> crossings_of(const Graph& part) {
  std::vector<std::string> found;
  for (const Node& node : part.nodes()) {
    if (node.op->must_run()) {
      found.push_back(std::string(node.op->name()) + " " + node.op->attributes());
    }
  }
  return found;
}

TEST(PartitionOfAChain, SendsEachActivationAndItsGradientOnce) {
  Graph graph;
  ValueId x = graph.add_input("x", f32({2, 3}));
  std::vector<int> part_of;
  for (int i = 0; i < 4; ++i) {
    x = graph.add_one(matmul(false, true),
                      {x, graph.add_parameter("w" + std::to_string(i), f32({3, 3}), true)});
    x = graph.add_one(std::make_shared<ops::Activation>(ops::ActivationKind::relu), {x});
    part_of.insert(part_of.end(), 2, i / 2);
  }
  const ValueId loss = graph.add_one(reduce(false, {0, 1}), {x});
  part_of.push_back(1);
  const auto origins = graph::add_gradients(graph, loss);
  const auto parts = graph::partition(graph, graph::with_gradients(part_of, origins), 2);
  EXPECT_THAT(crossings_of(parts[0]),
              testing::ElementsAre("send to part 1 message 0: f32[2, 3]",
                                   "receive from part 1 message 0: f32[2, 3]"));
  EXPECT_THAT(crossings_of(parts[1]),
              testing::ElementsAre("receive from part 0 message 0: f32[2, 3]",
                                   "send to part 0 message 0: f32[2, 3]"));
  EXPECT_EQ(parts[0].values_of(ValueKind::parameter).size(), 2U);
  EXPECT_EQ(parts[1].values_of(ValueKind::parameter).size(), 2U);
  EXPECT_EQ(parts[0].values_of(ValueKind::input).size(), 1U);
  EXPECT_TRUE(parts[1].values_of(ValueKind::input).empty());
}

TEST(PartitionOfAChain, MergesWhatIsReadyTogether) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const auto relu = [&](ValueId v) {
    return graph.add_one(std::make_shared<ops::Activation>(ops::ActivationKind::relu), {v});
  };
  const ValueId a = relu(x);
  const ValueId b = relu(a);
  const ValueId c = graph.add_one(std::make_shared<ops::Multiply>(), {a, b});  // there
  graph.set_output("y", graph.add_one(std::make_shared<ops::Add>(), {c, b}));
  const auto parts = graph::partition(graph, std::vector{0, 0, 1, 1}, 2);
  EXPECT_THAT(crossings_of(parts[0]),
              testing::ElementsAre("send to part 1 message 0: f32[2, 3] f32[2, 3]"));
}

TEST(PartitionOfAChain, SendsApartWhatTheOtherNeedsInBetween) {
  Graph graph;
  const ValueId x = graph.add_input("x", f32({2, 3}));
  const auto relu = [&](ValueId v) {
    return graph.add_one(std::make_shared<ops::Activation>(ops::ActivationKind::relu), {v});
  };
  const ValueId a = relu(x);  // 0
  const ValueId b = relu(a);  // 1
  const ValueId c = relu(b);  // 0
  graph.set_output("y", relu(c));
  const auto parts = graph::partition(graph, std::vector{0, 1, 0, 1}, 2);
  EXPECT_THAT(crossings_of(parts[0]),
              testing::ElementsAre("send to part 1 message 0: f32[2, 3]",
                                   "receive from part 1 message 0: f32[2, 3]",
                                   "send to part 1 message 1: f32[2, 3]"));
}

TEST(PartitionOfAChain, RefusesAWeightInTwoParts) {
  Graph graph;
  const ValueId w = graph.add_parameter("tied", f32({3, 3}), true);
  ValueId x = graph.add_input("x", f32({2, 3}));
  graph.set_scope("first");
  x = graph.add_one(matmul(false, true), {x, w});
  graph.set_scope("second");
  x = graph.add_one(matmul(false, true), {x, w});
  graph.set_output("y", x);
  EXPECT_EQ(graph::partition(graph, std::vector{0, 0}, 1).size(), 1U);
  try {
    graph::partition(graph, std::vector{0, 1}, 2);
    FAIL();
  } catch (const RequestError& error) {
    EXPECT_THAT(error.what(), HasSubstr("tied is used by layers first and second"));
  }
}

}  // namespace
}  // namespace syrtos::test
