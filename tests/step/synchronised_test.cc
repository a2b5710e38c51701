// Workers that each have a part of a batch, with synchronised batch norm, compute what one computes
// with the whole batch.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <numeric>

#include "syrtos/base/error.h"
#include "syrtos/base/philox.h"
#include "syrtos/graph/pass_parts.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/graph/reference.h"
#include "syrtos/nn/model.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos {
namespace {

constexpr ops::Step kStep{1, 0, 0};

/// Two residual blocks' worth of batch norms: alone, with ReLU, with addition and ReLU, with two
/// branches of their own, and one on features.
nn::Network small_network() {
  const auto layers = [](nn::Builder& b, graph::ValueId images,
                         const nn::ModelOptions& options) -> nn::Heads {
    const auto conv = [&](const char* name, graph::ValueId x) {
      return b.conv(name, x, {.out = 8, .kernel = 3, .padding = 1, .bias = false});
    };
    graph::ValueId x = b.relu(b.batch_norm("bn1", conv("conv1", images)));
    x = b.relu(b.add(b.batch_norm("bn2", conv("conv2", x)), x));
    x = b.relu(b.add(b.batch_norm("bn3", conv("conv3", x)), b.batch_norm("bn4", conv("conv4", x))));
    x = b.tanh(b.batch_norm("bn5", conv("conv5", x)));
    x = b.batch_norm("bn6", b.global_avg_pool(x));
    return {b.classifier("fc", x, options.classes)};
  };
  return {{.name = "small"}, layers};
}

float number(int64_t sample, int64_t i) {
  const auto word = philox({1, 2}, {static_cast<uint32_t>(i), static_cast<uint32_t>(sample), 0, 0});
  return static_cast<float>(word[0]) / 4294967296.0F - 0.3F;
}

/// One worker: the samples first, first + 1, ... of the batch.
class Worker {
 public:
  Worker(const std::string& network, const nn::ModelOptions& options, int64_t first)
      : model_((network == "small" ? small_network() : nn::find_network(network)).build(options)),
        backend_(ops::cpu::make_backend()),
        parameters_(std::make_shared<graph::Parameters>()) {
    graph::add_gradients(model_.graph, model_.loss);
    graph::Graph graph = model_.graph;
    graph::optimise(graph);
    program_ = graph::compile(graph, *backend_, parameters_);
    nn::initialize_parameters(model_, 5, *parameters_);
    images_ = Tensor({DType::f32, model_.graph.type(model_.images).shape});
    const int64_t pixels = images_.elements() / options.batch;
    for (int64_t i = 0; i < images_.elements(); ++i) {
      const float value = number(first + i / pixels, i % pixels);
      images_.set(i, options.dtype == DType::bf16 ? static_cast<float>(BFloat16(value)) : value);
    }
    labels_ = Tensor({DType::s32, {options.batch}});
    for (int64_t i = 0; i < options.batch; ++i) {
      labels_.as<int32_t>()[i] = static_cast<int32_t>((first + i) * 7 % options.classes);
    }
    program_->set_input("images", images_);
    program_->set_input("labels", labels_);
  }

  graph::Program& program() { return *program_; }
  const graph::Parameters& parameters() const { return *parameters_; }
  double loss() const { return program_->read_scalar("loss"); }
  std::vector<graph::PassPart> parts() const {
    return graph::parts_of_pass(*program_, std::vector<int>(parameters_->slots().size(), 0));
  }

  /// The naive references' gradients, by parameter.
  std::map<std::string, ops::RefTensor> reference_gradients() const {
    std::map<graph::ValueId, ops::RefTensor> given;
    const auto give = [&](graph::ValueId id, const Tensor& tensor) {
      ops::RefTensor& values = given.emplace(id, tensor.shape()).first->second;
      for (int64_t i = 0; i < tensor.elements(); ++i) values[i] = tensor.get(i);
    };
    const graph::Graph& graph = model_.graph;
    for (const auto id : graph.values_of(graph::ValueKind::parameter)) {
      give(id, parameters_->get(graph.value(id).name));
    }
    for (const auto id : graph.values_of(graph::ValueKind::state)) {
      give(id, parameters_->get_state(graph.value(id).name));
    }
    give(model_.images, images_);
    give(model_.targets, labels_);
    const auto values = graph::evaluate_reference(graph, std::move(given), kStep);
    std::map<std::string, ops::RefTensor> gradients;
    for (const graph::ParameterGradient& pair : graph.gradients()) {
      gradients.emplace(graph.value(pair.parameter).name, values.at(pair.gradient));
    }
    return gradients;
  }

 private:
  nn::Model model_;
  std::unique_ptr<ops::Backend> backend_;
  std::shared_ptr<graph::Parameters> parameters_;
  std::unique_ptr<graph::Program> program_;
  Tensor images_;
  Tensor labels_;
};

/// Runs the workers part by part, and adds up what is to be added up in between.
void run_together(std::vector<std::unique_ptr<Worker>>& workers) {
  std::vector<std::vector<graph::PassPart>> parts;
  for (const auto& worker : workers) parts.push_back(worker->parts());
  graph::PhaseTimes times;
  for (size_t s = 0; s < parts[0].size(); ++s) {
    for (size_t w = 0; w < workers.size(); ++w) {
      workers[w]->program().run_items(parts[w][s].first, parts[w][s].last, kStep, times);
    }
    for (size_t i = 0; i < parts[0][s].sums.size(); ++i) {
      std::vector<float> total(parts[0][s].sums[i].size());
      for (const auto& of_worker : parts) {
        ASSERT_EQ(of_worker[s].sums[i].size(), total.size());
        for (size_t k = 0; k < total.size(); ++k) total[k] += of_worker[s].sums[i][k];
      }
      for (const auto& of_worker : parts) {
        std::copy(total.begin(), total.end(), of_worker[s].sums[i].begin());
      }
    }
  }
}

/// By shares, as an exchange of gradients adds them up.
Tensor weighted_gradient(const std::vector<std::unique_ptr<Worker>>& workers,
                         const std::vector<int64_t>& shares, const std::string& name) {
  const auto samples =
      static_cast<float>(std::accumulate(shares.begin(), shares.end(), int64_t{0}));
  Tensor total;
  for (size_t w = 0; w < workers.size(); ++w) {
    const Tensor part = workers[w]->parameters().get_gradient(name);
    const float share = static_cast<float>(shares[w]) / samples;
    if (w == 0) total = Tensor({DType::f32, part.shape()});
    for (int64_t i = 0; i < part.elements(); ++i) {
      total.set(i, (w == 0 ? 0 : total.get(i)) + share * part.get(i));
    }
  }
  return total;
}

double at(const Tensor& tensor, int64_t i) { return tensor.get(i); }
double at(const ops::RefTensor& tensor, int64_t i) { return tensor[i]; }

/// The norm of the difference relative to that of what is expected.
template <typename Values>
double difference(const Values& expected, const Tensor& found) {
  double norm = 1e-24;
  double distance = 0;
  for (int64_t i = 0; i < found.elements(); ++i) {
    const double want = at(expected, i);
    norm += want * want;
    distance += (found.get(i) - want) * (found.get(i) - want);
  }
  return std::isfinite(distance) ? std::sqrt(distance / norm) : INFINITY;
}

/// The mean over parameters of the difference of their gradients.
double distance(const Worker& expected, const std::vector<std::unique_ptr<Worker>>& workers,
                const std::vector<int64_t>& shares) {
  double total = 0;
  const auto& slots = expected.parameters().slots();
  for (const graph::ParameterSlot& slot : slots) {
    total += difference(expected.parameters().get_gradient(slot.name),
                        weighted_gradient(workers, shares, slot.name));
  }
  return total / static_cast<double>(slots.size());
}

struct Case {
  const char* network;
  int64_t side;
  DType dtype;
  std::vector<int64_t> shares;
  double tolerance;  ///< of gradients, relative to their norm
};

class Synchronised : public testing::TestWithParam<Case> {
 protected:
  static nn::ModelOptions options(int64_t batch, bool synchronised) {
    nn::ModelOptions options;
    options.batch = batch;
    options.classes = 10;
    options.height = options.width = GetParam().side;
    options.dtype = GetParam().dtype;
    options.synchronised_batch_norm = synchronised;
    return options;
  }
  static int64_t samples() {
    return std::accumulate(GetParam().shares.begin(), GetParam().shares.end(), int64_t{0});
  }
  static Worker whole() { return {GetParam().network, options(samples(), false), 0}; }
  static std::vector<std::unique_ptr<Worker>> workers(bool synchronised = true) {
    std::vector<std::unique_ptr<Worker>> workers;
    int64_t first = 0;
    for (const int64_t share : GetParam().shares) {
      workers.push_back(
          std::make_unique<Worker>(GetParam().network, options(share, synchronised), first));
      first += share;
    }
    return workers;
  }
  static Tensor weighted(const std::vector<std::unique_ptr<Worker>>& workers,
                         const std::string& name) {
    return weighted_gradient(workers, GetParam().shares, name);
  }
};

/// Small enough for the naive references.
class SynchronisedSmall : public Synchronised {};

TEST_P(Synchronised, PartsGiveTheGradientsLossAndStatisticsOfTheWhole) {
  Worker alone = whole();
  alone.program().run(kStep);
  auto parts = workers();
  run_together(parts);
  double worst = 0;
  for (const graph::ParameterSlot& slot : alone.parameters().slots()) {
    const double found =
        difference(alone.parameters().get_gradient(slot.name), weighted(parts, slot.name));
    EXPECT_LE(found, GetParam().tolerance) << slot.name;
    worst = std::max(worst, found);
  }
  RecordProperty("gradients", fmt::format("{:.2g}", worst));
  double loss = 0;
  for (size_t w = 0; w < parts.size(); ++w) {
    loss += parts[w]->loss() * static_cast<double>(GetParam().shares[w]) /
            static_cast<double>(samples());
  }
  EXPECT_NEAR(loss, alone.loss(), GetParam().tolerance * alone.loss());
  double worst_state = 0;
  for (const graph::StateSlot& slot : alone.parameters().states()) {
    const Tensor first = parts[0]->parameters().get_state(slot.name);
    const double found = difference(alone.parameters().get_state(slot.name), first);
    EXPECT_LE(found, GetParam().tolerance) << slot.name;
    worst_state = std::max(worst_state, found);
    for (const auto& part : parts) {
      const Tensor other = part->parameters().get_state(slot.name);
      EXPECT_EQ(std::memcmp(first.as<float>(), other.as<float>(),
                            static_cast<size_t>(first.elements()) * sizeof(float)),
                0)
          << slot.name;
    }
  }
  RecordProperty("states", fmt::format("{:.2g}", worst_state));
  RecordProperty("loss", fmt::format("{:.2g}", std::fabs(loss / alone.loss() - 1)));
}

TEST_P(Synchronised, OneWorkerGivesWhatOrdinaryBatchNormGives) {
  Worker ordinary = whole();
  ordinary.program().run(kStep);
  Worker alone(GetParam().network, options(samples(), true), 0);
  alone.program().run(kStep);
  double worst = 0;
  for (const graph::ParameterSlot& slot : ordinary.parameters().slots()) {
    const double found = difference(ordinary.parameters().get_gradient(slot.name),
                                    alone.parameters().get_gradient(slot.name));
    EXPECT_LE(found, GetParam().tolerance) << slot.name;
    worst = std::max(worst, found);
  }
  RecordProperty("gradients", fmt::format("{:.2g}", worst));
  EXPECT_NEAR(alone.loss(), ordinary.loss(), 1e-2 * GetParam().tolerance * ordinary.loss());
}

// So that the tests above can fail.
TEST_P(Synchronised, WithoutItPartsGiveSomethingElse) {
  if (GetParam().shares[0] == 1) {
    EXPECT_THROW(workers(false), RequestError);  // one row of features has no variance
    return;
  }
  Worker alone = whole();
  alone.program().run(kStep);
  auto parts = workers(false);
  for (auto& part : parts) part->program().run(kStep);
  double worst = 0;
  for (const graph::ParameterSlot& slot : alone.parameters().slots()) {
    worst = std::max(
        worst, difference(alone.parameters().get_gradient(slot.name), weighted(parts, slot.name)));
  }
  EXPECT_GT(worst, 5 * GetParam().tolerance);
}

// Deep in bf16, roundings alone turn gradients by a third. The parts may be as far from the truth
// as the whole is, not further.
TEST(SynchronisedInBf16, PartsAreAsNearToF32AsTheWholeIs) {
  const std::vector<int64_t> shares = {5, 3, 4};
  nn::ModelOptions options;
  options.batch = 12;
  Worker truth("resnet18", options, 0);
  truth.program().run(kStep);
  options.dtype = DType::bf16;
  std::vector<std::unique_ptr<Worker>> whole;
  whole.push_back(std::make_unique<Worker>("resnet18", options, 0));
  whole[0]->program().run(kStep);
  const auto make_parts = [&](bool synchronised) {
    options.synchronised_batch_norm = synchronised;
    std::vector<std::unique_ptr<Worker>> parts;
    int64_t first = 0;
    for (const int64_t share : shares) {
      options.batch = share;
      parts.push_back(std::make_unique<Worker>("resnet18", options, first));
      first += share;
    }
    run_together(parts);
    return parts;
  };
  const double of_whole = distance(truth, whole, {12});
  const double of_parts = distance(truth, make_parts(true), shares);
  const double of_others = distance(truth, make_parts(false), shares);
  RecordProperty("whole", fmt::format("{:.2g}", of_whole));
  RecordProperty("parts", fmt::format("{:.2g}", of_parts));
  RecordProperty("not_synchronised", fmt::format("{:.2g}", of_others));
  EXPECT_LE(of_parts, 1.3 * of_whole);
  EXPECT_GT(of_others, 1.3 * of_whole);
}

TEST_P(SynchronisedSmall, PartsGiveTheNaiveGradientsOfTheWhole) {
  const auto expected = whole().reference_gradients();
  auto parts = workers();
  run_together(parts);
  for (const auto& [name, gradient] : expected) {
    EXPECT_LE(difference(gradient, weighted(parts, name)), 2 * GetParam().tolerance) << name;
  }
}

TEST_P(Synchronised, StagesEndWhereSumsAreAddedUpAndCoverTheProgram) {
  auto parts = workers();
  std::vector<std::vector<size_t>> sizes(parts.size());
  for (size_t w = 0; w < parts.size(); ++w) {
    const graph::Program& program = parts[w]->program();
    std::vector<int> each(program.parameters().slots().size());
    std::iota(each.begin(), each.end(), 0);
    size_t item = 0;
    size_t norms = 0;
    for (const graph::PassPart& part : graph::parts_of_pass(program, each)) {
      EXPECT_EQ(part.first, item);
      EXPECT_GT(part.last, part.first);
      for (; item < part.last; ++item) {
        const std::span<float> sums = program.items()[item].sums;
        if (program.items()[item].operation.starts_with("batch_norm")) ++norms;
        if (sums.empty()) continue;
        EXPECT_EQ(item + 1, part.last);
        EXPECT_EQ(program.items()[item].kernel, program.items()[item + 1].kernel);
        ASSERT_EQ(part.sums.size(), 1U);
        EXPECT_EQ(part.sums[0].data(), sums.data());
      }
      for (const auto sums : part.sums) sizes[w].push_back(sums.size());
    }
    EXPECT_EQ(item, program.items().size());
    EXPECT_EQ(sizes[w].size() * 2, norms);
    EXPECT_GT(norms, 0U);
    EXPECT_EQ(sizes[w], sizes[0]);
  }
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(info.param.network) + "_" + to_string(info.param.dtype) + "_" +
         std::to_string(info.param.shares.size()) + "workers";
}
const Case kSmall[] = {{"small", 9, DType::f32, {5, 3, 4}, 2e-5},
                       {"small", 9, DType::f32, {1, 6}, 2e-5},
                       {"small", 9, DType::bf16, {5, 3, 4}, 5e-2}};
const Case kDeep[] = {{"resnet18", 32, DType::f32, {5, 3, 4}, 2e-4},
                      {"resnet18", 32, DType::f32, {8, 4}, 2e-4}};
INSTANTIATE_TEST_SUITE_P(Small, Synchronised, testing::ValuesIn(kSmall), name_of);
INSTANTIATE_TEST_SUITE_P(Deep, Synchronised, testing::ValuesIn(kDeep), name_of);
INSTANTIATE_TEST_SUITE_P(Small, SynchronisedSmall, testing::ValuesIn(kSmall), name_of);

}  // namespace
}  // namespace syrtos
