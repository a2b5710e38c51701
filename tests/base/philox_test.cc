#include "syrtos/base/philox.h"

#include <gtest/gtest.h>

#include "syrtos/base/dropout_mask.h"

namespace syrtos {
namespace {

// From the known-answer file (kat_vectors) of the authors' Random123 library.
TEST(Philox, GivesThePublishedWords) {
  EXPECT_EQ(philox({0, 0}, {0, 0, 0, 0}),
            (Philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (Philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0xa4093822, 0x299f31d0}, {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(DropoutMask, DropsTheGivenShare) {
  const DropoutStream stream{.seed = 7, .layer = 3, .step = 11};
  int kept = 0;
  const int total = 100000;
  for (int i = 0; i < total; ++i) {
    kept += dropout_factor(stream, 0.3f, i / 1000, i % 1000) != 0 ? 1 : 0;
  }
  EXPECT_NEAR(kept / static_cast<double>(total), 0.7, 0.01);
}

TEST(DropoutMask, DependsOnEachOfItsArguments) {
  const DropoutStream stream{.seed = 7, .layer = 3, .step = 11};
  const uint32_t word = dropout_word(stream, 5, 100);
  EXPECT_NE(word, dropout_word({.seed = 8, .layer = 3, .step = 11}, 5, 100));
  EXPECT_NE(word, dropout_word({.seed = 7 + (uint64_t{1} << 32), .layer = 3, .step = 11}, 5, 100));
  EXPECT_NE(word, dropout_word({.seed = 7, .layer = 4, .step = 11}, 5, 100));
  EXPECT_NE(word, dropout_word({.seed = 7, .layer = 3, .step = 12}, 5, 100));
  EXPECT_NE(word, dropout_word(stream, 6, 100));
  EXPECT_NE(word, dropout_word(stream, 5, 101));
  EXPECT_NE(word, dropout_word(stream, 5, 116));
  EXPECT_NE(word, dropout_word(stream, 5, 164));
}

}  // namespace
}  // namespace syrtos
