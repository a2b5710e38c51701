#include "syrtos/nn/whitening.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/nn/eigen.h"

namespace syrtos::nn {

namespace {
// Keeps directions in which images hardly vary from being blown up.
constexpr double kEpsilon = 5e-4;
}  // namespace

Shape patch_shape(const Shape& kernel) {
  SYRTOS_CHECK(kernel.rank() == 3 || kernel.rank() == 4, "{}", to_string(kernel));
  const bool flat = kernel.rank() == 3;
  return {kernel[1], flat ? 1 : kernel[2], flat ? kernel[2] : kernel[3]};
}

PatchCovariance PatchCovariance::identity(const Shape& shape) {
  SYRTOS_CHECK(shape.rank() == 3, "{}", to_string(shape));
  const auto n = static_cast<size_t>(shape.elements());
  PatchCovariance patches{shape[0], shape[1], shape[2], std::vector<double>(n * n)};
  for (size_t i = 0; i < n; ++i) patches.matrix[i * n + i] = 1;
  return patches;
}

void fill_whitening(Tensor& kernel, const PatchCovariance& patches) {
  const Shape found{patches.channels, patches.height, patches.width};
  const Shape expected = patch_shape(kernel.shape());
  SYRTOS_CHECK(found == expected, "the kernel {} needs patches {}, found {}",
               to_string(kernel.shape()), to_string(expected), to_string(found));
  const int64_t n = expected.elements();
  SYRTOS_CHECK(kernel.shape()[0] == 2 * n, "whitening of {} has {} outputs", to_string(expected),
               2 * n);
  const Eigen eigen = symmetric_eigen(patches.matrix, n);
  for (int64_t i = 0; i < n; ++i) {
    // Rounding may leave an eigenvalue of 0 slightly below it.
    const double variance = std::max(0.0, eigen.values[static_cast<size_t>(i)]);
    for (int64_t k = 0; k < n; ++k) {
      const double value =
          eigen.vectors[static_cast<size_t>(i * n + k)] / std::sqrt(variance + kEpsilon);
      kernel.set(i * n + k, static_cast<float>(value));
      kernel.set((n + i) * n + k, static_cast<float>(-value));
    }
  }
}

}  // namespace syrtos::nn
