// Two runs give the same bits, and programs of one model agree.

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "syrtos/base/parallel.h"
#include "syrtos/base/philox.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/optim/optimizer.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos {
namespace {

nn::ModelOptions small(DType dtype, int64_t channels, int64_t input) {
  nn::ModelOptions options;
  options.batch = 6;
  options.classes = 10;
  options.channels = channels;
  options.height = input;
  options.width = input;
  options.dtype = dtype;
  return options;
}

void fill(graph::Program& program) {
  const graph::Program::Placed& images = program.input("images");
  Tensor plain({DType::f32, images.type.shape});
  for (int64_t i = 0; i < plain.elements(); ++i) {
    const auto word = philox({1, 2}, {static_cast<uint32_t>(i), 0, 0, 0})[0];
    plain.set(i, static_cast<float>(word) / 4294967296.0F - 0.5F);
  }
  program.set_input("images", plain);
  Tensor labels({DType::s32, program.input("labels").type.shape});
  for (int64_t i = 0; i < labels.elements(); ++i) labels.as<int32_t>()[i] = static_cast<int32_t>(i);
  program.set_input("labels", labels);
}

std::vector<float> train(const char* name, const nn::ModelOptions& options, int steps) {
  train::CompiledNetwork network(nn::find_network(name), options,
                                 train::CompiledNetwork::Use::training);
  network.initialize(42);
  graph::Parameters& p = network.parameters();
  fill(network.training().program());
  optim::Optimizer optimizer({}, p.weights().size());
  const std::vector<optim::Segment> all{{0, p.weights().size(), false}};
  for (int64_t step = 0; step < steps; ++step) {
    network.training().program().run({42, step, 0});
    optimizer.update(p.weights(), p.gradients(), p.working(), all, {0.01, 0, 1, step});
  }
  return {p.weights().begin(), p.weights().end()};
}

class Repeat : public testing::TestWithParam<std::tuple<const char*, DType, int>> {};

TEST_P(Repeat, GivesTheSameBits) {
  const auto& [name, dtype, threads] = GetParam();
  const ThreadScope scope(threads);
  const bool mnist = std::string(name) == "mnist-cnn";
  const nn::ModelOptions options = small(dtype, mnist ? 1 : 3, mnist ? 28 : 32);
  const std::vector<float> first = train(name, options, 4);
  const std::vector<float> second = train(name, options, 4);
  ASSERT_EQ(first.size(), second.size());
  EXPECT_EQ(std::memcmp(first.data(), second.data(), first.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(
    Networks, Repeat,
    testing::Combine(testing::Values("resnet18-cifar", "mnist-cnn", "squeezenet"),
                     testing::Values(DType::f32, DType::bf16), testing::Values(1, 2)));

// The evaluation program has another batch size, shares the parameters and sees what training
// wrote.
TEST(Programs, ShareTheirParameters) {
  train::CompiledNetwork network(nn::find_network("resnet18-cifar"), small(DType::f32, 3, 32),
                                 train::CompiledNetwork::Use::both);
  network.initialize(3);
  fill(network.evaluation().program());
  network.evaluation().program().run({});
  const float before = network.evaluation().loss();
  for (float& weight : network.parameters().weights()) weight *= 0.5F;
  network.evaluation().program().run({});
  EXPECT_NE(network.evaluation().loss(), before);
}

}  // namespace
}  // namespace syrtos
