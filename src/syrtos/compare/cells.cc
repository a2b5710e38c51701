#include "syrtos/compare/cells.h"

#include <fstream>

#include "syrtos/base/files.h"

namespace syrtos::compare {

using nlohmann::json;

namespace {

std::string key_of(const std::string& name, const json& settings) {
  return name + " " + settings.dump();
}

}  // namespace

Cells::Cells(std::filesystem::path file) : file_(std::move(file)) {
  std::ifstream in(file_);
  for (std::string line; std::getline(in, line);) {
    const json cell = json::parse(line, nullptr, false);
    // The last line may be cut off.
    if (!cell.is_object() || !cell.contains("cell") || !cell.contains("result")) continue;
    known_[key_of(cell["cell"], cell["settings"])] = cell["result"];
  }
}

const json* Cells::find(const std::string& name, const json& settings) const {
  const auto found = known_.find(key_of(name, settings));
  return found == known_.end() ? nullptr : &found->second;
}

void Cells::put(const std::string& name, const json& settings, json result) {
  LineFile(file_).append(json{{"cell", name}, {"settings", settings}, {"result", result}}.dump());
  known_[key_of(name, settings)] = std::move(result);
}

}  // namespace syrtos::compare
