#include "syrtos/optim/clip.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/optim/sweep.h"

namespace syrtos::optim {

namespace {
constexpr int64_t kNormBlock = 65536;
}

GlobalNorm::GlobalNorm(size_t elements)
    : blocks_((elements + static_cast<size_t>(kNormBlock) - 1) / static_cast<size_t>(kNormBlock)) {}

double GlobalNorm::operator()(std::span<const float> values) {
  const auto n = static_cast<int64_t>(values.size());
  const auto blocks = (n + kNormBlock - 1) / kNormBlock;
  SYRTOS_CHECK(blocks <= static_cast<int64_t>(blocks_.size()), "{} {}", blocks, blocks_.size());
  const auto sum_of_squares = sweep_kernels().sum_of_squares;
  parallel_for(blocks, 1, 2, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      blocks_[static_cast<size_t>(b)] =
          sum_of_squares(values.data() + b * kNormBlock, std::min(kNormBlock, n - b * kNormBlock));
    }
  });
  double sum = 0;
  for (int64_t b = 0; b < blocks; ++b) sum += blocks_[static_cast<size_t>(b)];
  return std::sqrt(sum);
}

double clip_scale(double norm, double limit) { return norm > limit ? limit / norm : 1.0; }

}  // namespace syrtos::optim
