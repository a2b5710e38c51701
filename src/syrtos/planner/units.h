#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace syrtos::planner {

// Quantities as people write them. Throw RequestError that begins with `what`.

/// "1 Gbit/s", "940 Mbps", "10 GbE", "25G", "125 MB/s": bytes per second.
double parse_bandwidth(std::string_view text, std::string_view what);
/// "50 us", "1.5 ms", "2 s": seconds.
double parse_duration(std::string_view text, std::string_view what);
/// "16 GB", "512 MB": bytes, by powers of ten.
double parse_bytes(std::string_view text, std::string_view what);

/// What one of a unit is, in bytes per second, seconds or bytes; none: no such unit.
std::optional<double> bandwidth_unit(std::string_view name);
std::optional<double> duration_unit(std::string_view name);
std::optional<double> size_unit(std::string_view name);

/// "940 Mbit/s".
std::string format_bandwidth(double bytes_per_s);
/// "62 us", "131 ms", "2.5 s".
std::string format_short_time(double seconds);

}  // namespace syrtos::planner
