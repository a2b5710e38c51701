#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos {

/// "1.2 GB", "340 MB", "12 kB": powers of ten.
std::string format_bytes(double bytes);
/// "11,689,512"
std::string format_count(int64_t count);
/// "0.8 s", "12 s", "3:25 min", "1:02:03 h"
std::string format_duration(double seconds);

/// What to say after "unknown X 'word'": "; did you mean 'closest'? (known: a, b, c)", without the
/// question when nothing is near.
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace syrtos
