#include "syrtos/run/json.h"

#include <cmath>
#include <cstring>

#include "syrtos/base/files.h"
#include "syrtos/run/text_file.h"

namespace syrtos::run {

namespace {
constexpr double kMostWhole = 9e15;  // whole numbers up to it are exact as double
}

std::string to_text(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

void write_json(const Directory& directory, File file, const json& value) {
  write_text(directory.to_write(file), to_text(value) + "\n");
}

std::optional<json> read_object(const Directory& directory, File file, Notes& notes) {
  if (!directory.has(file)) return std::nullopt;
  const auto [text, error] = read_text(directory.file(file));
  if (error != 0) {
    notes.push_back(fmt::format("{}: {}; left out", name_of(file), std::strerror(error)));
    return std::nullopt;
  }
  try {
    json value = json::parse(text);
    if (value.is_object()) return value;
    notes.push_back(fmt::format("{}: expected an object, found {}; left out", name_of(file),
                                value.type_name()));
  } catch (const json::parse_error& error) {
    notes.push_back(fmt::format("{}: damaged at byte {} of {}; left out", name_of(file), error.byte,
                                text.size()));
  } catch (const json::exception&) {
    notes.push_back(fmt::format("{}: it has numbers that are none; left out", name_of(file)));
  }
  return std::nullopt;
}

double number_in(const json& object, const char* key, double otherwise) {
  if (!object.is_object()) return otherwise;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return otherwise;
  const double value = found->get<double>();
  return std::isfinite(value) ? value : otherwise;
}

int64_t count_in(const json& object, const char* key, int64_t otherwise) {
  const double value = number_in(object, key, static_cast<double>(otherwise));
  return value >= 0 && value < kMostWhole ? static_cast<int64_t>(value) : otherwise;
}

std::string text_in(const json& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

int rank_in(const json& object, const char* key) {
  const int64_t rank = count_in(object, key, -1);
  return rank < kMostRanks ? static_cast<int>(rank) : -1;
}

const json* list_in(const json& object, File file, const char* key, Notes& notes) {
  const auto found = object.find(key);
  if (found != object.end() && found->is_array()) return &*found;
  notes.push_back(
      fmt::format("{}: expected the list '{}', found none: written by another version; left out",
                  name_of(file), key));
  return nullptr;
}

}  // namespace syrtos::run
