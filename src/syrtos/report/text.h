#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

// Texts of a chart come from anywhere: file names, networks, hosts. Lengths are in columns of a
// terminal: most characters take one, wide ones two.

namespace syrtos::report {

/// Valid UTF-8 on one line, without control characters, whatever comes in.
std::string clean_text(const std::string& text);
/// The same with '?' for what is not ASCII.
std::string ascii_text(const std::string& text);

/// For HTML and SVG, also within quotes.
std::string escaped(std::string_view text);

size_t length_of(const std::string& text);
/// At most `most` columns; a text that was cut ends with dots.
std::string shortened(const std::string& text, size_t most);
/// Lines of at most `most` columns, broken at spaces; longer words are cut.
std::vector<std::string> wrapped(const std::string& text, size_t most);

}  // namespace syrtos::report
