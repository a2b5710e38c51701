// Every network, compiled and trained by plain SGD with momentum, learns one batch by heart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::nn {
namespace {

struct Case {
  std::string network;
  int64_t side;
  float rate;
  int steps = 10;
  DType dtype = DType::f32;
  int64_t height = 0;  ///< Of pictures of one channel; 0: they have three and are square.

  Shape image() const { return height > 0 ? Shape{1, height, side} : Shape{3, side, side}; }
};

constexpr int64_t kBatch = 4;
constexpr int64_t kClasses = 3;

class LearnsOneBatch : public testing::TestWithParam<Case> {};

// Stripes, of another width and colour for each sample, under some noise: deep networks hardly tell
// samples of pure noise apart.
void fill_inputs(graph::Program& program, const Shape& image) {
  const int64_t plane = image[1] * image[2];
  std::mt19937 random(17);
  std::normal_distribution<float> normal;
  Tensor images({DType::f32, {kBatch, image[0], image[1], image[2]}});
  Tensor labels({DType::s32, {kBatch}});
  for (int64_t i = 0; i < images.elements(); ++i) {
    const int64_t sample = i / (image[0] * plane);
    const int64_t channel = i / plane % image[0];
    const int64_t row = i % plane / image[2];
    const float colour = image[0] == 1 || channel == sample % 3 ? 2.0F : -0.5F;
    const float stripe = row / (1 + sample) % 2 == 0 ? colour : 0;
    images.set(i, stripe + 0.3F * normal(random));
  }
  for (int64_t i = 0; i < kBatch; ++i) labels.set(i, static_cast<float>(i % kClasses));
  program.set_input("images", images);
  program.set_input("labels", labels);
}

void update(const graph::Parameters& parameters, std::vector<float>& velocity, float rate) {
  const std::span<float> weights = parameters.weights();
  const std::span<float> gradients = parameters.gradients();
  const std::span<BFloat16> working = parameters.working();
  velocity.resize(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    velocity[i] = 0.9F * velocity[i] + gradients[i];
    weights[i] -= rate * velocity[i];
  }
  for (size_t i = 0; i < working.size(); ++i) working[i] = BFloat16(weights[i]);
}

TEST_P(LearnsOneBatch, AndItsLossGoesDown) {
  const Case& c = GetParam();
  const Shape image = c.image();
  Model model = find_network(c.network).build({.batch = kBatch,
                                               .classes = kClasses,
                                               .channels = image[0],
                                               .height = image[1],
                                               .width = image[2],
                                               .dtype = c.dtype});
  graph::add_gradients(model.graph, model.loss);
  graph::optimise(model.graph);
  const auto backend = ops::cpu::make_backend();
  const auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(model.graph, *backend, parameters);
  initialize_parameters(model, 1, *parameters);
  fill_inputs(*program, image);

  std::vector<float> velocity;
  std::vector<float> losses;
  for (int step = 0; step < c.steps; ++step) {
    program->run({.seed = 1, .step = step});
    losses.push_back(program->read_scalar("loss"));
    ASSERT_TRUE(std::isfinite(losses.back())) << "at step " << step;
    update(*parameters, velocity, c.rate);
  }
  // Dropout makes single steps jump: the best of the last ones is what it has learnt.
  const float last = *std::min_element(losses.end() - 3, losses.end());
  EXPECT_LT(last, 0.7F * losses.front()) << testing::PrintToString(losses);
}

INSTANTIATE_TEST_SUITE_P(
    Zoo, LearnsOneBatch,
    testing::Values(
        Case{"mlp", 8, 0.01F}, Case{"mlp", 8, 0.01F, 10, DType::bf16},
        Case{"lenet5", 28, 0.02F, 20}, Case{"lenet5", 32, 0.02F, 20, DType::bf16},
        Case{"mnist-cnn", 12, 0.01F, 20}, Case{"alexnet", 63, 0.005F, 12},
        Case{"alexnet-2col", 63, 0.01F, 16}, Case{"vgg16e", 32, 0.005F, 16},
        Case{"googlenet", 79, 0.005F, 15}, Case{"squeezenet", 64, 0.003F, 20},
        Case{"squeezenet", 64, 0.003F, 20, DType::bf16}, Case{"resnet18", 32, 0.01F},
        Case{"resnet34", 32, 0.01F}, Case{"resnet50", 32, 0.01F}, Case{"resnet18-cifar", 8, 0.01F},
        Case{"resnet56v2", 16, 0.01F}, Case{"resnet18", 32, 0.01F, 10, DType::bf16},
        Case{"cifar10-fast", 32, 0.1F, 15}, Case{"cifar10-fast", 32, 0.1F, 15, DType::bf16},
        Case{"signal-cnn", 16, 0.02F, 20}, Case{"signal-cnn", 16, 0.02F, 20, DType::bf16},
        Case{"redshift-cnn", 16, 0.01F, 20}, Case{"land-cover", 32, 0.001F, 20, DType::f32, 396},
        Case{"land-cover", 32, 0.001F, 20, DType::bf16, 396}, Case{"lstm-mnist", 8, 0.1F, 25},
        Case{"lstm-mnist", 8, 0.1F, 25, DType::bf16}),
    [](const auto& info) {
      std::string name = info.param.network + "_" + to_string(info.param.dtype);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

}  // namespace
}  // namespace syrtos::nn
