#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace syrtos::compare {

/// What was measured, cell by cell, in a file that grows: a comparison that was interrupted goes on
/// where it was. A cell is found again by its name and the settings that it was measured with.
class Cells {
 public:
  /// Reads what is there. Throws RunError when the file cannot be written.
  explicit Cells(std::filesystem::path file);

  /// nullptr: not measured yet.
  const nlohmann::json* find(const std::string& name, const nlohmann::json& settings) const;
  void put(const std::string& name, const nlohmann::json& settings, nlohmann::json result);

 private:
  std::filesystem::path file_;
  std::map<std::string, nlohmann::json> known_;
};

}  // namespace syrtos::compare
