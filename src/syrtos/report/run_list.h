#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace syrtos::report {

/// Names of the runs that lie in this directory, the newest 500, the newest first. Empty: it holds
/// none, or is a run itself.
std::vector<std::string> runs_in(const std::filesystem::path& directory);

/// Whether one of them, also of the older ones, has this name.
bool has_run(const std::filesystem::path& directory, const std::string& name);

/// What a page that lists them shows: of each run its state, how far it is and what it came to.
nlohmann::json list_json(const std::filesystem::path& directory);

}  // namespace syrtos::report
