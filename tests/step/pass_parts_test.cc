#include "syrtos/graph/pass_parts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/train/network/compiled_network.h"

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
