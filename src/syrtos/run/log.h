#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// Adds a line to log.txt. For whoever watches: what cannot be written is left out.
void append_log(const Directory& directory, std::string_view line);
/// The last lines, at most so many and of the last 32 KiB. Empty when it is missing.
std::vector<std::string> read_log(const Directory& directory, size_t most_lines);

}  // namespace syrtos::run
