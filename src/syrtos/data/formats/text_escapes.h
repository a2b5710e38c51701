#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrtos::data {

/// How Python 2 prints a byte string: in quotes, with \n, \xNN and the like. Nothing when it is
/// not that.
std::optional<std::string> decode_python_quotes(std::string_view text);

/// Python's "raw-unicode-escape": Latin-1 with \uNNNN and \UNNNNNNNN. Gives UTF-8.
std::optional<std::string> decode_raw_unicode(std::string_view text);

/// UTF-8 as one byte per character. Nothing when a character is beyond 255 or the text is not
/// UTF-8.
std::optional<std::string> utf8_to_latin1(std::string_view text);

}  // namespace syrtos::data
