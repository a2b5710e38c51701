#include "syrtos/data/formats/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/csv_fields.h"
#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/formats/text_targets.h"
#include "syrtos/data/sets/as_trained.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

// ".csv" or ".tsv" when the directory has both files, else nothing.
const char* find_pair(const fs::path& directory) {
  for (const char* extension : {".csv", ".tsv"}) {
    const std::string end = extension;
    if (is_file(directory / ("train" + end)) && is_file(directory / ("test" + end))) {
      return extension;
    }
  }
  return nullptr;
}

CsvRows read_rows(const fs::path& file, const std::string& label_column) {
  const std::vector<uint8_t> bytes = read_bytes(file);
  return parse_csv({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string(),
                   label_column);
}

std::unique_ptr<Table> make_table(const CsvRows& rows, const TextTargets& targets,
                                  const fs::path& path) {
  DatasetInfo info{
      .name = path.string(), .dtype = DType::f32, .channels = 1, .height = 1, .width = rows.width};
  if (rows.columns.has_names) info.columns = feature_names(rows.columns);
  for (const size_t column : rows.columns.labels) {
    info.label_columns.push_back(rows.columns.names[column]);
  }
  if (!rows.columns.note.empty()) info.notes.push_back(rows.columns.note);
  targets.describe(info);
  std::vector<uint8_t> bytes(rows.values.size() * sizeof(float));
  std::memcpy(bytes.data(), rows.values.data(), bytes.size());
  return std::make_unique<Table>(std::move(info), std::move(bytes), targets.read(texts_of(rows)));
}

/// The label columns of training data as somebody would ask for them in a file with these columns:
/// by name where both have names, which may stand in another order.
std::string as_asked(const CsvColumns& trained, const CsvColumns& columns) {
  std::string text;
  for (const size_t column : trained.labels) {
    const auto at = std::find(columns.names.begin(), columns.names.end(), trained.names[column]);
    const bool named = trained.has_names && columns.has_names && at != columns.names.end();
    const auto place = named ? static_cast<size_t>(at - columns.names.begin()) : column;
    text += fmt::format("{}{}", text.empty() ? "" : ",", place + 1);
  }
  return text;
}

/// Labels in the same columns as in training data.
CsvRows read_rows(const fs::path& file, const CsvColumns& trained) {
  const std::vector<uint8_t> bytes = read_bytes(file);
  const std::string name = file.string();
  const std::string_view text =
      csv_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, name);
  return parse_csv(text, name, as_asked(trained, csv_columns(text, name)));
}

/// Puts the columns of the rows in the order that training data has.
void arrange(CsvRows& rows, const CsvColumns& trained) {
  if (!rows.columns.has_names || !trained.has_names) return;
  const std::vector<std::string> wanted = feature_names(trained);
  const std::vector<std::string> found = feature_names(rows.columns);
  if (wanted == found) return;
  const std::vector<size_t> places = places_of_columns(wanted, found, rows.name);
  std::vector<float> row(places.size());
  for (auto at = rows.values.begin(); at != rows.values.end(); at += std::ssize(places)) {
    for (size_t i = 0; i < places.size(); ++i) row[i] = at[static_cast<std::ptrdiff_t>(places[i])];
    std::copy(row.begin(), row.end(), at);
  }
  rows.columns = trained;
}

}  // namespace

bool has_csv(const fs::path& path) {
  if (is_file(path)) return path.extension() == ".csv" || path.extension() == ".tsv";
  return find_pair(path) != nullptr;
}

Splits open_csv(const fs::path& path, const std::string& label_column, TargetKind kind) {
  const char* extension = find_pair(path);
  if (extension == nullptr) {
    const CsvRows rows = read_rows(path, label_column);
    return {make_table(rows, TextTargets(texts_of(rows), kind), path)};
  }
  const CsvRows train = read_rows(path / (std::string("train") + extension), label_column);
  CsvRows test = read_rows(path / (std::string("test") + extension), train.columns);
  if (train.width != test.width) {
    fail_request("{}:{}: expected {} numbers, as in {}, found {}", test.name, test.lines[0],
                 train.width, train.name, test.width);
  }
  arrange(test, train.columns);
  const TextTargets targets(texts_of(train), kind);
  return {make_table(train, targets, path), make_table(test, targets, path)};
}

}  // namespace syrtos::data
