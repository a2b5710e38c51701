#include "syrtos/base/toml.h"

#include <gtest/gtest.h>
#include <toml++/toml.h>

#include <limits>

namespace syrtos {
namespace {

toml::table read_back(const std::string& value) { return toml::parse("key = " + value + "\n"); }

TEST(Toml, AnyTextIsOneLineThatReadsBack) {
  const std::string with_null("a\0b", 3);
  for (const std::string& text :
       {std::string(), std::string("plain"), std::string("it's"), std::string("\"quoted\" \\ back"),
        std::string("two\nlines\r\n"), std::string("tab\tbell\a\x7f"), with_null,
        std::string("Zürich 東京 🙂"), std::string("[section] # no comment")}) {
    const std::string written = toml_value(text);
    EXPECT_EQ(written.find('\n'), std::string::npos) << written;
    EXPECT_EQ(read_back(written)["key"].value<std::string>(), text) << written;
  }
}

TEST(Toml, NumbersReadBackAsTheSameNumberOfTheSameKind) {
  for (const int64_t number : {int64_t{0}, int64_t{-7}, std::numeric_limits<int64_t>::max()}) {
    EXPECT_EQ(read_back(toml_value(number))["key"].value_exact<int64_t>(), number);
  }
  for (const double number : {0.0, 3.0, 0.1, 1e-5, 1.0 / 3, -2.5e300, 5e-324}) {
    EXPECT_EQ(read_back(toml_value(number))["key"].value_exact<double>(), number)
        << toml_value(number);
  }
  EXPECT_EQ(toml_value(0.1), "0.1");
  EXPECT_EQ(toml_value(3.0), "3.0");
}

}  // namespace
}  // namespace syrtos
