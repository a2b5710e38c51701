#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace syrtos::train {

// What was measured on this machine once and is kept for the next time, as JSON below the cache
// directory. Losing it costs a second measurement and nothing else: nothing here throws.

/// An object; empty where there is no such file, or none that can be read.
nlohmann::json read_kept(const std::filesystem::path& file);

/// A positive number of an object, else 0.
double number_in(const nlohmann::json& entry, const char* key);

/// Whether others want this machine's cores just now, so that what is measured may be wrong and
/// must not be kept. Takes 25 ms; this process must have one thread that runs.
bool others_are_running();

void keep(const std::filesystem::path& file, const nlohmann::json& known);

}  // namespace syrtos::train
