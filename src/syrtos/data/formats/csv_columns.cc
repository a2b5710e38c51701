#include "syrtos/data/formats/csv_columns.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/formats/csv_fields.h"

namespace syrtos::data {

namespace {

// Those that come first are preferred.
constexpr std::array<std::string_view, 6> kLabelNames = {"label",  "class",   "target",
                                                         "labels", "species", "category"};
constexpr int64_t kLooked = 2000;     // lines
constexpr size_t kMostClasses = 100;  // of a column of numbers that is taken for labels

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

/// What is known of a column.
struct Column {
  std::string name;  ///< In the first line.
  bool has_texts = false;
  bool has_numbers = false;
  bool whole = true;  ///< Whole numbers from 0 on, all of them.
  std::set<float> values = {};

  bool may_be_labels() const {
    return !has_texts && whole && values.size() >= 2 && values.size() <= kMostClasses;
  }
  /// A text among numbers is a mistake, no label.
  bool is_names() const { return has_texts && !has_numbers; }
};

struct CsvTable {
  std::vector<Column> columns;
  bool has_names = false;
};

void look_at(const std::vector<CsvField>& fields, CsvTable& table) {
  for (size_t i = 0; i < std::min(fields.size(), table.columns.size()); ++i) {
    Column& column = table.columns[i];
    float value = 0;
    if (!parse_csv_number(fields[i].text, value)) {
      // What is missing or infinite is a mistake in a column of numbers, no label.
      const std::string text = lower(fields[i].text);
      const bool missing = text.empty() || text == "nan" || text == "inf" || text == "-inf" ||
                           text == "na" || text == "?";
      column.has_texts = column.has_texts || !missing;
      continue;
    }
    column.has_numbers = true;
    column.whole = column.whole && value >= 0 && value == std::floor(value);
    if (column.values.size() <= kMostClasses) column.values.insert(value);
  }
}

/// Columns are known by their names: two of one name would be taken for each other.
void refuse_same_names(const CsvTable& table, const std::string& name) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const std::string& column = table.columns[i].name;
    const auto [before, is_new] = places.emplace(column, i);
    if (is_new || column.empty()) continue;
    fail_request("{}:1: expected columns of different names, found '{}' as columns {} and {}", name,
                 column, before->second + 1, i + 1);
  }
}

CsvTable look_at(std::string_view text, const std::string& name) {
  CsvTable table;
  CsvLines lines(text);
  std::string_view line;
  std::vector<CsvField> fields;
  if (!lines.next(line)) {
    fail_request("{}: expected lines of a label and numbers, found none", name);
  }
  const char separator = csv_separator(line);
  split_csv(line, separator, fields);
  if (fields.size() < 2) {
    fail_request(
        "{}:{}:1: expected a label and at least one number, separated by , ; or tab, found "
        "'{}'",
        name, lines.number(), fields[0].text.substr(0, 40));
  }
  float ignored = 0;
  bool numbers = false;
  bool named = false;
  for (const CsvField& field : fields) {
    table.columns.push_back({.name = field.meant()});
    numbers = numbers || parse_csv_number(field.text, ignored);
    named = named || std::find(kLabelNames.begin(), kLabelNames.end(), lower(field.text)) !=
                         kLabelNames.end();
  }
  table.has_names = named || !numbers;
  if (table.has_names) refuse_same_names(table, name);
  if (!table.has_names) look_at(fields, table);
  for (int64_t i = 0; i < kLooked && lines.next(line); ++i) {
    split_csv(line, separator, fields);
    look_at(fields, table);
  }
  return table;
}

/// The column that may hold labels, and `note` where that is not plain.
size_t find_label(const CsvTable& table, const std::string& name, std::string& note) {
  const std::vector<Column>& columns = table.columns;
  const size_t last = columns.size() - 1;
  const auto taken = [&](size_t column) {
    return fmt::format("{}: column {}{} is taken for the label", name, column + 1,
                       table.has_names ? fmt::format(" ('{}')", columns[column].name) : "");
  };
  std::vector<size_t> texts;
  for (size_t i = 0; i <= last; ++i) {
    if (columns[i].is_names()) texts.push_back(i);
  }
  if (texts.size() == 1) {
    if (texts[0] != 0) note = taken(texts[0]) + ": the others have numbers only";
    return texts[0];
  }
  if (!texts.empty()) return 0;
  if (columns[0].may_be_labels()) {
    if (columns[last].may_be_labels() && columns[0].values.size() > columns[last].values.size()) {
      note = taken(0) + "; --label-column last takes the last one";
    } else if (table.has_names) {
      note = taken(0) +
             ", because none is called label, class or the like; --label-column takes "
             "another";
    }
    return 0;
  }
  if (columns[last].may_be_labels()) {
    note = taken(last) + ": the first one holds no labels; --label-column takes another";
    return last;
  }
  return 0;
}

size_t asked_column(const CsvColumns& columns, const std::string& name, const std::string& asked) {
  const size_t count = columns.count();
  if (asked == "first") return 0;
  if (asked == "last") return count - 1;
  size_t number = 0;
  const auto [end, error] = std::from_chars(asked.data(), asked.data() + asked.size(), number);
  if (error == std::errc() && end == asked.data() + asked.size() && number >= 1 &&
      number <= count) {
    return number - 1;
  }
  const auto found = std::find(columns.names.begin(), columns.names.end(), asked);
  if (columns.has_names && found != columns.names.end()) {
    return static_cast<size_t>(found - columns.names.begin());
  }
  if (!columns.has_names) {
    fail_request("--label-column: expected first, last or 1 to {}, found '{}'; {} has no names",
                 count, asked, name);
  }
  constexpr size_t kMostListed = 30;
  const std::span<const std::string> listed(columns.names.data(), std::min(count, kMostListed));
  fail_request(
      "--label-column: expected first, last, 1 to {} or a column's name, found '{}'; {}{} has: "
      "{}{}",
      count, asked, did_you_mean(asked, columns.names), name, fmt::join(listed, ", "),
      listed.size() < count ? ", ..." : "");
}

CsvColumns columns_of(const CsvTable& table) {
  CsvColumns columns{.names = {}, .labels = {}, .has_names = table.has_names, .certain = true};
  for (size_t i = 0; i < table.columns.size(); ++i) {
    columns.names.push_back(table.has_names ? table.columns[i].name : std::to_string(i + 1));
  }
  return columns;
}

}  // namespace

bool CsvColumns::is_label(size_t column) const {
  return std::find(labels.begin(), labels.end(), column) != labels.end();
}

std::vector<size_t> asked_columns(const CsvColumns& columns, const std::string& name,
                                  const std::string& asked) {
  // A name may have a comma in it.
  const auto whole = std::find(columns.names.begin(), columns.names.end(), asked);
  if (columns.has_names && whole != columns.names.end()) {
    return {static_cast<size_t>(whole - columns.names.begin())};
  }
  std::vector<size_t> found;
  for (size_t begin = 0; begin <= asked.size();) {
    const size_t comma = std::min(asked.find(',', begin), asked.size());
    const size_t column = asked_column(columns, name, asked.substr(begin, comma - begin));
    if (std::find(found.begin(), found.end(), column) == found.end()) found.push_back(column);
    begin = comma + 1;
  }
  if (found.size() == columns.count()) {
    fail_request("--label-column: expected at least one column of {} to learn from, found none",
                 name);
  }
  return found;
}

std::optional<size_t> named_label(const CsvColumns& columns) {
  for (const std::string_view label : kLabelNames) {
    for (size_t i = 0; columns.has_names && i < columns.count(); ++i) {
      if (lower(columns.names[i]) == label) return i;
    }
  }
  return std::nullopt;
}

std::vector<std::string> feature_names(const CsvColumns& columns) {
  std::vector<std::string> names;
  for (size_t i = 0; i < columns.count(); ++i) {
    if (!columns.is_label(i)) names.push_back(columns.names[i]);
  }
  return names;
}

CsvColumns csv_columns(std::string_view text, const std::string& name) {
  return columns_of(look_at(text, name));
}

CsvColumns find_csv_columns(std::string_view text, const std::string& name,
                            const std::string& asked) {
  const CsvTable table = look_at(text, name);
  CsvColumns result = columns_of(table);
  if (!asked.empty()) {
    result.labels = asked_columns(result, name, asked);
  } else if (const std::optional<size_t> named = named_label(result)) {
    result.labels = {*named};
  } else {
    result.labels = {find_label(table, name, result.note)};
    result.certain = false;
  }
  return result;
}

}  // namespace syrtos::data
