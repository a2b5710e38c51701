#include "syrtos/data/fetch/download_part.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "syrtos/base/files.h"

namespace syrtos::data {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

fs::path origin_of(const fs::path& file) { return file.string() + ".part.from"; }

}  // namespace

fs::path part_of(const fs::path& file) { return file.string() + ".part"; }

Origin read_origin(const fs::path& file) {
  std::ifstream in(origin_of(file));
  const json found = json::parse(in, nullptr, false);
  const auto has = [&](const char* key, auto is) {
    return found.contains(key) && (found[key].*is)();
  };
  if (!found.is_object() || !has("url", &json::is_string) || !has("tag", &json::is_string) ||
      !has("length", &json::is_number_integer)) {
    return {};
  }
  return {found["url"].get<std::string>(), found["tag"].get<std::string>(),
          found["length"].get<int64_t>()};
}

void write_origin(const fs::path& file, const Origin& origin) {
  AtomicFile out(origin_of(file));
  out.write(json{{"url", origin.url}, {"tag", origin.tag}, {"length", origin.length}}.dump(
      -1, ' ', false, json::error_handler_t::replace));
  out.commit();
}

void forget(const fs::path& file) {
  std::error_code ignored;
  fs::remove(part_of(file), ignored);
  fs::remove(origin_of(file), ignored);
}

}  // namespace syrtos::data
