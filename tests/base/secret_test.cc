#include "syrtos/base/secret.h"

#include <gtest/gtest.h>

#include <set>

namespace syrtos {
namespace {

TEST(Secret, IsSealedAsTheStandardSays) {
  // RFC 4231, test case 2.
  constexpr std::string_view kText = "what do ya want for nothing?";
  EXPECT_EQ(
      to_hexadecimal(seal("Jefe", {reinterpret_cast<const uint8_t*>(kText.data()), kText.size()})),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

TEST(Secret, TokensAreLongAndNeverTheSame) {
  std::set<std::string> tokens;
  for (int i = 0; i < 100; ++i) tokens.insert(random_token());
  EXPECT_EQ(tokens.size(), 100U);
  for (const std::string& token : tokens) {
    EXPECT_EQ(token.size(), kTokenLength);
    EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
  }
}

TEST(Secret, IsTheSameOnlyIfEveryByteIs) {
  const std::string token = random_token();
  EXPECT_TRUE(same_secret(token, std::string(token)));
  for (size_t i = 0; i < token.size(); ++i) {
    std::string other = token;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_FALSE(same_secret(token, other)) << i;
  }
  EXPECT_FALSE(same_secret(token, token.substr(1)));
  EXPECT_FALSE(same_secret(token, ""));
}

}  // namespace
}  // namespace syrtos
