#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "syrtos/base/format.h"

namespace syrtos {

/// A count with its noun: "1 worker", "2,500 workers"; of nouns without a plain plural: "1 class",
/// "2 classes".
inline std::string counted(int64_t count, std::string_view noun, std::string_view plural = {}) {
  std::string text = format_count(count) + " ";
  if (count == 1 || plural.empty()) {
    text += noun;
    if (count != 1) text += 's';
    return text;
  }
  return text += plural;
}

}  // namespace syrtos
