#pragma once

#include <string_view>

namespace syrtos::planner {

/// Bytes per second of "1 Gbit/s", "100Mbit/s", "125 MB/s": powers of ten; bit or B, with k, M, G
/// or T. Throws RequestError.
double parse_bandwidth(std::string_view text);

}  // namespace syrtos::planner
