#include "syrtos/cli/progress.h"

#include <gtest/gtest.h>

namespace syrtos::cli {
namespace {

TEST(Bar, is_as_wide_as_asked_and_filled_in_proportion) {
  EXPECT_EQ(bar(0, 4), "    ");
  EXPECT_EQ(bar(1, 4), "████");
  EXPECT_EQ(bar(0.5, 4), "██  ");
  EXPECT_EQ(bar(0.375, 4), "█▌  ");
  EXPECT_EQ(bar(-1, 2), "  ");
  EXPECT_EQ(bar(7, 2), "██");
}

}  // namespace
}  // namespace syrtos::cli
