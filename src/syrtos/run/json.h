#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/run/directory.h"

// How the files of a run that are JSON are written and read; only this folder includes it.

namespace syrtos::run {

using nlohmann::json;

inline constexpr int64_t kMostRanks = 1'000'000;

/// One line of text. Bytes that are no UTF-8 are replaced.
std::string to_text(const json& value);

/// Replaces the file as a whole and brings it to disk. Throws RunError.
void write_json(const Directory& directory, File file, const json& value);

/// The file as an object; nothing when it is missing; nothing, and a note, when it is damaged.
std::optional<json> read_object(const Directory& directory, File file, Notes& notes);

// Values of an object that may be anything; what is missing or of another type is the default.
double number_in(const json& object, const char* key, double otherwise = 0);
int64_t count_in(const json& object, const char* key, int64_t otherwise = 0);
std::string text_in(const json& object, const char* key);
/// -1: there is none that makes sense.
int rank_in(const json& object, const char* key);
/// nullptr, and a note, when there is no such list.
const json* list_in(const json& object, File file, const char* key, Notes& notes);

/// Each of the list's objects that `take` accepts; a note counts the others.
template <typename Item, typename Take>
std::vector<Item> items_of(const json& list, File file, Notes& notes, Take take) {
  std::vector<Item> items;
  size_t bad = 0;
  for (const json& entry : list) {
    Item item;
    if (entry.is_object() && take(entry, item)) {
      items.push_back(std::move(item));
    } else {
      ++bad;
    }
  }
  if (bad > 0) {
    notes.push_back(fmt::format("{}: {} of {} entries make no sense; left out", name_of(file), bad,
                                list.size()));
  }
  return items;
}

}  // namespace syrtos::run
