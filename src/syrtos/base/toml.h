#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace syrtos {

// Values as a TOML file has them, on one line: text in quotes with its escapes, and numbers in the
// shortest form that reads back as the same number (a float always looks like one: 3.0).
std::string toml_value(std::string_view text);
std::string toml_value(int64_t number);
std::string toml_value(double number);

}  // namespace syrtos
