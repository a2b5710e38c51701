#include "syrtos/data/formats/csv.h"

#include <fmt/format.h>

#include <cstring>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/formats/text_targets.h"
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
  if (!rows.columns.note.empty()) info.notes.push_back(rows.columns.note);
  targets.describe(info);
  std::vector<uint8_t> bytes(rows.values.size() * sizeof(float));
  std::memcpy(bytes.data(), rows.values.data(), bytes.size());
  return std::make_unique<Table>(std::move(info), std::move(bytes), targets.read(texts_of(rows)));
}

/// The columns of labels as somebody would ask for them.
std::string as_asked(const CsvColumns& columns) {
  std::string text;
  for (const size_t column : columns.labels) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", column + 1);
  }
  return text;
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
  const CsvRows test = read_rows(path / (std::string("test") + extension), as_asked(train.columns));
  if (train.width != test.width) {
    fail_request("{}:{}: expected {} numbers, as in {}, found {}", test.name, test.lines[0],
                 train.width, train.name, test.width);
  }
  const TextTargets targets(texts_of(train), kind);
  return {make_table(train, targets, path), make_table(test, targets, path)};
}

}  // namespace syrtos::data
