#include "syrtos/base/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "syrtos/base/counted.h"

namespace syrtos {
namespace {

TEST(Format, BytesHaveTheUnitThatKeepsThemShort) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(999), "999 B");
  EXPECT_EQ(format_bytes(1500), "1.5 kB");
  EXPECT_EQ(format_bytes(12.3e6), "12 MB");
  EXPECT_EQ(format_bytes(999.9e6), "1.0 GB");
}

TEST(Format, CountsHaveSeparators) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(11689512), "11,689,512");
  EXPECT_EQ(format_count(-123456), "-123,456");
  EXPECT_EQ(format_count(-123), "-123");
}

TEST(Format, CountsHaveTheirNoun) {
  EXPECT_EQ(counted(0, "worker"), "0 workers");
  EXPECT_EQ(counted(1, "worker"), "1 worker");
  EXPECT_EQ(counted(2500, "worker"), "2,500 workers");
  EXPECT_EQ(counted(1, "batch", "batches"), "1 batch");
  EXPECT_EQ(counted(2, "batch", "batches"), "2 batches");
}

TEST(Format, DurationsAreForPeople) {
  EXPECT_EQ(format_duration(0.84), "0.8 s");
  EXPECT_EQ(format_duration(12.4), "12 s");
  EXPECT_EQ(format_duration(205), "3:25 min");
  EXPECT_EQ(format_duration(3723), "1:02:03 h");
  EXPECT_EQ(format_duration(-1), "?");
}

TEST(Format, SuggestionNamesTheClosestAndAll) {
  EXPECT_EQ(suggestion("adaam", {"sgd", "adam"}), "; did you mean 'adam'? known: sgd, adam");
  EXPECT_EQ(suggestion("zzzzzzzz", {"sgd", "adam"}), "; known: sgd, adam");
}

TEST(Format, TwoThatAreEquallyCloseAreBothNamed) {
  EXPECT_EQ(did_you_mean("--lod", {"--log", "--load", "--lo", "--network"}),
            "did you mean '--log' or '--load'? ");
  EXPECT_EQ(did_you_mean("zzzzzzzz", {"sgd", "adam"}), "");
}

}  // namespace
}  // namespace syrtos
