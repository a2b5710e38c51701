#include "syrtos/base/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <sstream>

namespace syrtos {

std::string toml_value(std::string_view text) {
  std::ostringstream out;
  // Without the flags for literal and multi-line strings every text is one line in double quotes.
  out << toml::toml_formatter(toml::value(std::string(text)),
                              toml::format_flags::allow_unicode_strings);
  return out.str();
}

std::string toml_value(int64_t number) { return fmt::format("{}", number); }

std::string toml_value(double number) {
  // toml++ writes 0.1 with 17 digits.
  const std::string text = fmt::format("{}", number);
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace syrtos
