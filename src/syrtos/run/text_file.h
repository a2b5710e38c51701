#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// Both replace a whole file: readers see the old one or the new one, never half of it.

/// Brings it to disk. Throws RunError.
void write_text(const std::filesystem::path& file, std::string_view text);

/// For whoever watches: not brought to disk, which would take long. What cannot be written is left
/// out, also when another process has taken the run over, and nothing is thrown.
void replace_text(const Directory& directory, File file, std::string_view text);

/// Adds a line, for whoever watches. One that cannot be written whole is left out.
void add_line(const Directory& directory, File file, std::string_view line);

/// A text with the file's name in place of its whole path.
std::string without_path(std::string text, const std::filesystem::path& file);

}  // namespace syrtos::run
