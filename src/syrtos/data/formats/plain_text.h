#pragma once

#include <filesystem>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Characters of a window: what the next one is guessed from.
inline constexpr int64_t kTextWindow = 64;

/// Whether the path is a .txt file.
bool has_plain_text(const std::filesystem::path& path);

/// Text in UTF-8. Its characters are the classes, in the order of their code points. A sample is a
/// window of characters as their classes' numbers, [1, 1, 64] in f32, and its class the character
/// after it. The last tenth of the text is test data, in windows that begin every 8 characters;
/// those of the rest follow each other without overlap. Throws RequestError that says the file, the
/// offset, what was expected and what was found.
Splits open_plain_text(const std::filesystem::path& file);

}  // namespace syrtos::data
