#include "syrtos/base/crc32.h"

#include <gtest/gtest.h>

#include <string>

namespace syrtos {
namespace {

TEST(Crc32, BothPolynomialsGiveThePublishedCheckValues) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32(0, text.data(), text.size()), 0xCBF43926U);
  EXPECT_EQ(crc32c(0, text.data(), text.size()), 0xE3069283U);
  EXPECT_EQ(crc32c(0, text.data(), 0), 0U);
}

TEST(Crc32, NothingChangesNothing) {
  EXPECT_EQ(crc32(0xCBF43926U, nullptr, 0), 0xCBF43926U);
  EXPECT_EQ(crc32c(0xE3069283U, nullptr, 0), 0xE3069283U);
}

// RFC 3720, appendix B.4.
TEST(Crc32, CastagnoliGivesTheValuesOfTheIscsiStandard) {
  std::string bytes(32, '\0');
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x8A9136AAU);
  bytes.assign(32, '\xff');
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x62A8AB43U);
  for (size_t i = 0; i < 32; ++i) bytes[i] = static_cast<char>(i);
  EXPECT_EQ(crc32c(0, bytes.data(), 32), 0x46DD794EU);
}

TEST(Crc32, GoesOnFromAnyPlace) {
  const std::string text = "twenty-three characters";
  const uint32_t whole = crc32c(0, text.data(), text.size());
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const uint32_t first = crc32c(0, text.data(), cut);
    EXPECT_EQ(crc32c(first, text.data() + cut, text.size() - cut), whole) << cut;
  }
}

}  // namespace
}  // namespace syrtos
