#include "syrtos/strategy/wire.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "syrtos/base/error.h"

namespace syrtos::strategy {
namespace {

TEST(Residue, SendsWhatIsAboveTheThresholdAndKeepsTheRest) {
  Residue residue(0.5F);
  std::array<float, 4> gradient = {0.7F, -0.6F, 0.3F, -0.2F};
  const SparseGradient first = residue.encode({gradient.data(), gradient.size()});
  EXPECT_EQ(first.words, (std::vector<uint32_t>{0, 3}));
  std::array<float, 4> sum{};
  add_sparse(first.words, 0.5F, {sum.data(), sum.size()});
  EXPECT_EQ(sum, (std::array<float, 4>{0.5F, -0.5F, 0, 0}));
  // 0.3 and once more 0.3 are enough.
  EXPECT_EQ(residue.encode({gradient.data(), gradient.size()}).words,
            (std::vector<uint32_t>{0, 3, 4}));
}

TEST(Residue, RefusesGradientsThatAreNoNumbers) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    Residue residue(0.5F);
    std::array<float, 2> gradient = {0.1F, bad};
    EXPECT_THROW(residue.encode({gradient.data(), gradient.size()}), RunError) << bad;
  }
}

}  // namespace
}  // namespace syrtos::strategy
