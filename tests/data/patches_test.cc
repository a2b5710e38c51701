#include "syrtos/data/patches.h"

#include <gtest/gtest.h>

#include "syrtos/data/sets/random_data.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {
namespace {

TEST(PatchCovariance, OfIndependentValuesIsTheIdentityTimesTheirVariance) {
  const RandomDataset data(300, {2, 12, 12}, 10, 1);
  const std::vector<double> covariance = patch_covariance(data, {{0}, {0.5F}}, 2, 2);
  ASSERT_EQ(covariance.size(), 64U);
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      EXPECT_NEAR(covariance[i * 8 + j], i == j ? 4 : 0, 0.1) << i << " " << j;
    }
  }
}

TEST(PatchCovariance, LiesByChannelThenRowThenColumn) {
  // Columns alternate between 0 and 10, so neighbours in a row go against each other and those in a
  // column go together; the second channel never changes.
  std::vector<uint8_t> values;
  for (int i = 0; i < 6 * 7; ++i) {
    values.push_back(i % 7 % 2 == 0 ? 0 : 10);
    values.push_back(3);
  }
  const Table data({.channels = 2, .height = 6, .width = 7, .classes = {"a"}}, values, {0});
  const std::vector<double> covariance = patch_covariance(data, {{5, 3}, {5, 1}}, 2, 2);
  const double signs[] = {1, -1, 1, -1};
  for (size_t i = 0; i < 8; ++i) {
    for (size_t j = 0; j < 8; ++j) {
      const double expected = i < 4 && j < 4 ? signs[i] * signs[j] : 0;
      EXPECT_NEAR(covariance[i * 8 + j], expected, 1e-6) << i << " " << j;
    }
  }
}

}  // namespace
}  // namespace syrtos::data
