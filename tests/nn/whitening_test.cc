// Eigenvectors, and the kernels made of them.
#include "syrtos/nn/whitening.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "syrtos/base/error.h"
#include "syrtos/graph/parameters.h"
#include "syrtos/graph/passes.h"
#include "syrtos/graph/program.h"
#include "syrtos/nn/eigen.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/ops/cpu/backend.h"

namespace syrtos::nn {
namespace {

/// B B^T of a random B: symmetric, with eigenvalues that spread over orders of magnitude.
std::vector<double> random_covariance(int64_t n) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> b(static_cast<size_t>(n * n)), matrix(b.size());
  for (size_t i = 0; i < b.size(); ++i) b[i] = normal(random) * (i % 3 == 0 ? 5 : 0.3);
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) {
        sum += b[static_cast<size_t>(i * n + k)] * b[static_cast<size_t>(j * n + k)];
      }
      matrix[static_cast<size_t>(i * n + j)] = sum;
    }
  }
  return matrix;
}

/// a^T M b
double product(const double* a, const std::vector<double>& matrix, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) sum += a[i] * matrix[static_cast<size_t>(i * n + j)] * b[j];
  }
  return sum;
}

TEST(Eigen, KnowsTwoByTwo) {
  const Eigen eigen = symmetric_eigen(std::vector<double>{2, -1, -1, 2}, 2);
  EXPECT_NEAR(eigen.values[0], 3, 1e-12);
  EXPECT_NEAR(eigen.values[1], 1, 1e-12);
  const double half = std::sqrt(0.5);
  const double expected[] = {half, -half, half, half};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(eigen.vectors[i], expected[i], 1e-12) << i;
}

TEST(Eigen, VectorsAreOrthonormalAndOnlyStretched) {
  for (const int64_t n : {1, 2, 12, 27, 48}) {
    const std::vector<double> matrix = random_covariance(n);
    const Eigen eigen = symmetric_eigen(matrix, n);
    std::vector<double> identity(matrix.size());
    for (int64_t i = 0; i < n; ++i) identity[static_cast<size_t>(i * n + i)] = 1;
    for (int64_t i = 0; i < n; ++i) {
      const double* a = eigen.vectors.data() + i * n;
      double largest = 0;
      for (int64_t k = 0; k < n; ++k) largest = std::abs(a[k]) > std::abs(largest) ? a[k] : largest;
      EXPECT_GT(largest, 0);
      for (int64_t j = 0; j < n; ++j) {
        const double* b = eigen.vectors.data() + j * n;
        const double value = eigen.values[static_cast<size_t>(i)];
        EXPECT_NEAR(product(a, identity, b, n), i == j ? 1 : 0, 1e-12);
        EXPECT_NEAR(product(a, matrix, b, n), i == j ? value : 0, 1e-10 * eigen.values[0]);
        if (j > i) {
          EXPECT_GE(value, eigen.values[static_cast<size_t>(j)]);
        }
      }
    }
  }
}

TEST(Whitening, MakesPatchesUncorrelatedWithVarianceOne) {
  constexpr int64_t kValues = 12;
  const PatchCovariance patches{3, 2, 2, random_covariance(kValues)};
  Tensor kernel({DType::f32, {2 * kValues, 3, 2, 2}});
  initialize(kernel, Initializer::whitening(), 1, "whiten.weight", &patches);
  const std::vector<float> floats = kernel.to_vector();
  const std::vector<double> rows(floats.begin(), floats.end());
  const Eigen eigen = symmetric_eigen(patches.matrix, kValues);
  for (int64_t i = 0; i < kValues; ++i) {
    for (int64_t j = 0; j < kValues; ++j) {
      const double value = eigen.values[static_cast<size_t>(i)];
      EXPECT_NEAR(product(&rows[static_cast<size_t>(i * kValues)], patches.matrix,
                          &rows[static_cast<size_t>(j * kValues)], kValues),
                  i == j ? value / (value + 5e-4) : 0, 2e-5);
    }
    for (int64_t k = 0; k < kValues; ++k) {
      EXPECT_EQ(kernel.get((kValues + i) * kValues + k), -kernel.get(i * kValues + k));
    }
  }
}

TEST(Whitening, OfNoPatchesIsThatOfWhiteNoise) {
  Tensor kernel({DType::f32, {8, 1, 2, 2}});
  initialize(kernel, Initializer::whitening(), 1, "whiten.weight");
  const auto one = static_cast<float>(1 / std::sqrt(1.0005));
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_EQ(kernel.get(i), i % 5 == 0 ? one : 0);
    EXPECT_EQ(kernel.get(16 + i), i % 5 == 0 ? -one : 0);
  }
}

TEST(Whitening, RefusesPatchesOfAnotherSize) {
  const auto patches = PatchCovariance::identity({3, 3, 3});
  Tensor kernel({DType::f32, {24, 3, 2, 2}});
  EXPECT_THROW(fill_whitening(kernel, patches), InternalError);
}

TEST(Whitening, IsAskedForByTheModelsThatNeedIt) {
  EXPECT_EQ(needs_patches(find_network("cifar10-fast").build({})), (Shape{3, 2, 2}));
  EXPECT_EQ(needs_patches(find_network("lenet5").build({})), std::nullopt);
}

class FrozenKernel : public testing::TestWithParam<DType> {};

TEST_P(FrozenKernel, IsAStateWithoutGradientThatStaysAsItStarts) {
  Model model = find_network("cifar10-fast").build({.batch = 2, .dtype = GetParam()});
  graph::add_gradients(model.graph, model.loss);
  graph::optimise(model.graph);
  for (const graph::Node& node : model.graph.nodes()) {
    EXPECT_FALSE(node.name == "whiten" && node.op->name() == "conv.backward_weights");
  }
  const auto backend = ops::cpu::make_backend();
  const auto parameters = std::make_shared<graph::Parameters>();
  const auto program = graph::compile(model.graph, *backend, parameters);
  const PatchCovariance patches{3, 2, 2, random_covariance(12)};
  initialize_parameters(model, 1, *parameters, &patches);
  EXPECT_EQ(parameters->find("whiten.weight"), nullptr);
  EXPECT_NE(parameters->find("whiten.bias"), nullptr);
  Tensor expected({DType::f32, {24, 3, 2, 2}});
  fill_whitening(expected, patches);
  program->run({});
  EXPECT_EQ(parameters->get_state("whiten.weight").to_vector(), expected.to_vector());
}

INSTANTIATE_TEST_SUITE_P(Precisions, FrozenKernel, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(to_string(info.param)); });

}  // namespace
}  // namespace syrtos::nn
