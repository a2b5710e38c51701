#include "syrtos/train/measure/kept.h"

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "syrtos/base/files.h"
#include "syrtos/base/log.h"

namespace syrtos::train {

using nlohmann::json;

json read_kept(const std::filesystem::path& file) {
  std::ifstream in(file);
  json known = json::parse(in, nullptr, false);
  return known.is_object() ? known : json::object();
}

double number_in(const json& entry, const char* key) {
  if (!entry.is_object() || !entry.contains(key) || !entry[key].is_number()) return 0;
  const auto number = entry[key].get<double>();
  return number > 0 ? number : 0;
}

bool others_are_running() {
  constexpr int kLooks = 5;
  int seen = 0;
  for (int i = 0; i < kLooks; ++i) {
    std::ifstream file("/proc/stat");
    for (std::string word; file >> word;) {
      if (word != "procs_running") continue;
      int count = 0;
      seen += (file >> count) && count > 1 ? 1 : 0;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return seen > kLooks / 2;
}

void keep(const std::filesystem::path& file, const json& known) {
  try {
    std::filesystem::create_directories(file.parent_path());
    AtomicFile out(file);
    out.write(known.dump(2) + "\n");
    out.commit();
  } catch (const std::exception& error) {
    log_info("what was measured is not kept: {}", error.what());
  }
}

}  // namespace syrtos::train
