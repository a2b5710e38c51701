#include "syrtos/nn/eigen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "syrtos/base/error.h"

namespace syrtos::nn {

namespace {

constexpr int kMaxSweeps = 100;  // convergence is quadratic: ten are many

/// A = matrix, V = rows that become eigenvectors: V A_start V^T = A after each rotation.
class Jacobi {
 public:
  Jacobi(std::span<const double> matrix, size_t n)
      : n_(n), a_(matrix.begin(), matrix.end()), v_(n * n, 0.0) {
    for (size_t i = 0; i < n; ++i) v_[i * n + i] = 1;
  }

  void run() {
    double size = 0;
    for (const double value : a_) size += value * value;
    for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
      if (off_diagonal() <= 1e-30 * size) return;
      for (size_t p = 0; p + 1 < n_; ++p) {
        for (size_t q = p + 1; q < n_; ++q) rotate(p, q);
      }
    }
    fail_run("the eigenvalues of a {}x{} matrix do not converge: expected finite values", n_, n_);
  }

  double value(size_t i) const { return a_[i * n_ + i]; }
  std::span<const double> vector(size_t i) const { return {v_.data() + i * n_, n_}; }

 private:
  double off_diagonal() const {
    double sum = 0;
    for (size_t i = 0; i < n_; ++i) {
      for (size_t j = 0; j < n_; ++j) sum += i == j ? 0 : a_[i * n_ + j] * a_[i * n_ + j];
    }
    return sum;
  }

  // The plane rotation that makes a[p][q] zero; the smaller of the two possible angles.
  void rotate(size_t p, size_t q) {
    const double apq = a_[p * n_ + q];
    if (apq == 0) return;
    const double theta = (a_[q * n_ + q] - a_[p * n_ + p]) / (2 * apq);
    const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double c = 1 / std::sqrt(t * t + 1);
    const double s = t * c;
    const auto turn = [&](double& x, double& y) {
      const double old = x;
      x = c * old - s * y;
      y = s * old + c * y;
    };
    for (size_t k = 0; k < n_; ++k) turn(a_[k * n_ + p], a_[k * n_ + q]);
    for (size_t k = 0; k < n_; ++k) turn(a_[p * n_ + k], a_[q * n_ + k]);
    for (size_t k = 0; k < n_; ++k) turn(v_[p * n_ + k], v_[q * n_ + k]);
  }

  size_t n_;
  std::vector<double> a_;
  std::vector<double> v_;
};

// Of components that differ by rounding only, the first counts as the largest.
double sign_of(std::span<const double> vector) {
  double largest = 0;
  for (const double x : vector) largest = std::max(largest, std::abs(x));
  for (const double x : vector) {
    if (std::abs(x) >= largest * (1 - 1e-6)) return x < 0 ? -1 : 1;
  }
  return 1;
}

}  // namespace

Eigen symmetric_eigen(std::span<const double> matrix, int64_t n) {
  const auto extent = static_cast<size_t>(n);
  SYRTOS_CHECK(n > 0 && matrix.size() == extent * extent, "{} numbers for {}x{}", matrix.size(), n,
               n);
  Jacobi jacobi(matrix, extent);
  jacobi.run();
  std::vector<size_t> order(extent);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return jacobi.value(i) > jacobi.value(j); });
  Eigen result;
  for (const size_t i : order) {
    result.values.push_back(jacobi.value(i));
    const double sign = sign_of(jacobi.vector(i));
    for (const double x : jacobi.vector(i)) result.vectors.push_back(sign * x);
  }
  return result;
}

}  // namespace syrtos::nn
