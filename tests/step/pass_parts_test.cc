#include "syrtos/graph/pass_parts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/cpu/backend.h"
#include "syrtos/ops/loss.h"
#include "syrtos/ops/matmul.h"
#include "syrtos/train/network/compiled_network.h"
#include "syrtos/train/network/replica.h"

namespace syrtos {
namespace {

train::CompiledNetwork make_network(const char* name, DType dtype) {
  nn::ModelOptions options;
  options.batch = 2;
  options.classes = 10;
  options.channels = 3;
  options.height = options.width = 32;
  options.dtype = dtype;
  return {nn::find_network(name), options, train::CompiledNetwork::Use::training};
}

TEST(PassPartsOfFrozen, ParametersBelongToNoBucketAndLieBehindTheOthers) {
  graph::Graph g;
  const auto dense = [&](graph::ValueId src, const char* name, int64_t in, int64_t out) {
    auto op = std::make_shared<ops::MatMul>();
    op->transpose_b = true;
    return g.add_one(op, {src, g.add_parameter(name, {DType::f32, {out, in}}, 1)});
  };
  const graph::ValueId x = g.add_input("x", {DType::f32, {2, 3}});
  graph::ValueId y = dense(dense(dense(x, "first", 3, 4), "second", 4, 5), "third", 5, 2);
  y = g.add_one(std::make_shared<ops::HalfSquaredError>(), {y, g.add_input("t", g.type(y))});
  g.freeze(g.find("first"));
  g.freeze(g.find("third"));
  g.set_output("loss", y);
  graph::add_gradients(g, y);
  const auto backend = ops::cpu::make_backend();
  const auto program = graph::compile(g, *backend, std::make_shared<graph::Parameters>());
  const auto& slots = program->parameters().slots();
  ASSERT_EQ(slots.size(), 3U);
  EXPECT_EQ(slots[0].name, "second");
  EXPECT_FALSE(slots[0].frozen());
  EXPECT_TRUE(slots[1].frozen() && slots[2].frozen());
  EXPECT_EQ(train::tensors_of(program->parameters()).size(), 1U);
  int needed = 0;
  int finished = 0;
  for (const graph::PassPart& part : graph::parts_of_pass(*program, std::vector<int>{0})) {
    needed += static_cast<int>(part.needs.size());
    finished += static_cast<int>(part.finishes.size());
  }
  EXPECT_EQ(needed, 1);
  EXPECT_EQ(finished, 1);
}

class PassParts : public testing::TestWithParam<DType> {};

TEST_P(PassParts, CoverTheProgramAndFinishSlicesInTheOrderInWhichTheyLie) {
  train::CompiledNetwork network = make_network("resnet18", GetParam());
  const graph::Program& program = network.training().program();
  const size_t slots = program.parameters().slots().size();
  std::vector<int> each(slots);
  std::iota(each.begin(), each.end(), 0);
  size_t item = 0;
  int next = 0;
  std::vector<bool> needed(slots);
  for (const graph::PassPart& part : graph::parts_of_pass(program, each)) {
    EXPECT_EQ(part.first, item);
    EXPECT_GT(part.last, part.first);
    item = part.last;
    for (const int bucket : part.needs) needed[static_cast<size_t>(bucket)] = true;
    for (const int bucket : part.finishes) {
      EXPECT_EQ(bucket, next++);
      EXPECT_TRUE(needed[static_cast<size_t>(bucket)]) << bucket;
    }
  }
  EXPECT_EQ(item, program.items().size());
  EXPECT_EQ(next, static_cast<int>(slots));
}

TEST_P(PassParts, OneBucketFinishesLast) {
  train::CompiledNetwork network = make_network("resnet18", GetParam());
  const graph::Program& program = network.training().program();
  const std::vector<int> one(program.parameters().slots().size(), 0);
  const std::vector<graph::PassPart> parts = graph::parts_of_pass(program, one);
  for (size_t i = 0; i < parts.size(); ++i) {
    const bool finishes = !parts[i].finishes.empty();
    EXPECT_EQ(finishes, i + 1 == parts.size()) << i;
  }
}

TEST_P(PassParts, RunOneAfterTheOtherGiveTheSameBitsAsTheWhole) {
  train::CompiledNetwork network = make_network("lenet5", GetParam());
  network.initialize(1);
  graph::Program& program = network.training().program();
  const graph::Parameters& parameters = network.parameters();
  std::vector<int> pairs;
  for (size_t i = 0; i < parameters.slots().size(); ++i) pairs.push_back(static_cast<int>(i / 2));
  program.run({1, 0, 0});
  const std::vector<float> whole(parameters.gradients().begin(), parameters.gradients().end());
  std::memset(parameters.gradients().data(), 0, parameters.gradients().size_bytes());
  graph::PhaseTimes times;
  for (const graph::PassPart& part : graph::parts_of_pass(program, pairs)) {
    program.run_items(part.first, part.last, {1, 0, 0}, times);
    for (const int bucket : part.finishes) {
      for (size_t i = 0; i < parameters.slots().size(); ++i) {
        if (pairs[i] != bucket) continue;
        const graph::ParameterSlot& slot = parameters.slots()[i];
        EXPECT_EQ(
            std::memcmp(whole.data() + slot.offset, parameters.gradients().data() + slot.offset,
                        slot.elements * sizeof(float)),
            0)
            << slot.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PassParts, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return to_string(info.param); });

}  // namespace
}  // namespace syrtos
