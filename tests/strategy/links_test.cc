#include "syrtos/strategy/links.h"

#include <gtest/gtest.h>

#include "syrtos/base/error.h"

namespace syrtos::strategy {
namespace {

TEST(Links, AreReadAsPeopleWriteThem) {
  const auto link = parse_links("0.06 ms, 1.25 GB/s");
  ASSERT_TRUE(link.has_value());
  EXPECT_DOUBLE_EQ(link->latency_s, 60e-6);
  EXPECT_DOUBLE_EQ(link->bytes_per_s, 1.25e9);
  EXPECT_EQ(to_string(*link), "60us,1250MB/s");
  EXPECT_FALSE(parse_links("auto").has_value());
}

TEST(Links, ThatSayNothingAreRefused) {
  for (const char* text : {"", "60us", "60us,", ",117MB/s", "60,117", "0us,117MB/s", "-1us,117MB/s",
                           "60us,117Mbit/s", "nanus,117MB/s", "60us,infMB/s", "60us,117MB/s,1"}) {
    EXPECT_THROW((void)parse_links(text), RequestError) << text;
  }
}

TEST(Links, AreTheSameAfterTheyWereWrittenOnce) {
  for (const double latency : {1e-9, 12.3456e-6, 0.98765e-3, 2.0}) {
    for (const double bandwidth : {1.23456e5, 117.6543e6, 2e9, 123.456e9}) {
      const collective::LinkSpeed once = as_written({latency, bandwidth});
      EXPECT_NEAR(once.latency_s / latency, 1, 0.005);
      EXPECT_NEAR(once.bytes_per_s / bandwidth, 1, 0.005);
      const collective::LinkSpeed twice = as_written(once);
      EXPECT_EQ(twice.latency_s, once.latency_s);
      EXPECT_EQ(twice.bytes_per_s, once.bytes_per_s);
    }
  }
}

}  // namespace
}  // namespace syrtos::strategy
