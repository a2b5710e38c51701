#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace syrtos::cli {

/// Columns of the terminal that a stream ends on; 80 when it does not say.
int columns_of(std::FILE* out);

/// Columns that a UTF-8 text takes: two for each character of East Asia's scripts, one for others.
int width_of(std::string_view text);

/// The text, or as much of its beginning as `columns` have room for, with "…" at its end.
std::string cut(const std::string& text, int columns);

}  // namespace syrtos::cli
