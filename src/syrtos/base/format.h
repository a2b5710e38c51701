#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos {

/// Bytes in powers of ten: "1.2 GB", "340 MB", "12 kB".
std::string format_bytes(double bytes);
/// A count with commas: "11,689,512".
std::string format_count(int64_t count);
/// A duration: "0.8 s", "12 s", "3:25 min", "1:02:03 h".
std::string format_duration(double seconds);

/// Says "did you mean 'closest'? ", or names two that are equally close; nothing when none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& known);
/// What to say after "unknown X 'word'", when few are known: "; did you mean 'closest'? known: a,
/// b".
std::string suggestion(std::string_view word, const std::vector<std::string>& known);

}  // namespace syrtos
