#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syrtos::nn {

struct Eigen {
  std::vector<double> values;   ///< largest first
  std::vector<double> vectors;  ///< row i belongs to values[i]; of length 1
};

/// Of a symmetric matrix, row-major and n * n, by Jacobi's rotations. The largest component of each
/// vector is positive (the first of equal ones), so that the result is unique where the eigenvalues
/// are different.
Eigen symmetric_eigen(std::span<const double> matrix, int64_t n);

}  // namespace syrtos::nn
