#include "syrtos/data/formats/picture_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/csv_fields.h"
#include "syrtos/data/formats/text_targets.h"
#include "syrtos/data/pictures/picture.h"
#include "syrtos/data/sets/picture_files.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

bool is_table(const fs::path& path) {
  return is_file(path) && (path.extension() == ".csv" || path.extension() == ".tsv");
}

bool names_picture(const fs::path& folder, std::string_view text) {
  return !text.empty() && has_picture_name(fs::path(text)) && is_file(folder / fs::path(text));
}

/// Whether one of the first lines names a picture: the second does where the first has names.
bool names_pictures(const fs::path& table) {
  constexpr int kLooked = 2;
  std::ifstream in(table, std::ios::binary);
  std::vector<CsvField> fields;
  std::string line;
  for (int i = 0; i < kLooked && std::getline(in, line); ++i) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    split_csv(line, csv_separator(line), fields);
    if (std::any_of(fields.begin(), fields.end(), [&](const CsvField& field) {
          return names_picture(table.parent_path(), field.text);
        })) {
      return true;
    }
  }
  return false;
}

/// The only table of a folder that names pictures.
std::optional<fs::path> table_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_table(entry.path()) && names_pictures(entry.path())) found.push_back(entry.path());
  }
  return found.size() == 1 ? std::optional(found[0]) : std::nullopt;
}

struct Tables {
  fs::path train;
  std::optional<fs::path> test = {};
};

std::optional<Tables> find_tables(const fs::path& path) {
  if (is_table(path)) return names_pictures(path) ? std::optional(Tables{path}) : std::nullopt;
  for (const char* ending : {".csv", ".tsv"}) {
    const Tables pair{path / (std::string("train") + ending),
                      path / (std::string("test") + ending)};
    if (is_file(pair.train) && is_file(*pair.test)) {
      return names_pictures(pair.train) ? std::optional(pair) : std::nullopt;
    }
  }
  if (const std::optional<fs::path> alone = table_in(path)) return Tables{*alone};
  const std::optional<fs::path> train = table_in(path / "train");
  for (const char* name : {"test", "val", "validation"}) {
    const std::optional<fs::path> test = table_in(path / name);
    if (train && test) return Tables{*train, test};
  }
  return std::nullopt;
}

/// A table with its pictures.
class PictureTable {
 public:
  explicit PictureTable(const fs::path& file) : folder_(file.parent_path()) {
    const std::vector<uint8_t> bytes = read_bytes(file);
    rows_ = parse_texts({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
    const size_t width = rows_.columns.count();
    while (!names_picture(folder_, rows_.labels[file_column_])) {
      if (++file_column_ == width) {
        fail_request("{}:{}: expected the name of a picture in one of its columns, found none",
                     rows_.name, rows_.lines[0]);
      }
    }
  }

  /// Those that were asked for, or that are called so, or all others.
  std::vector<size_t> label_columns(const std::string& asked) const {
    const CsvColumns& columns = rows_.columns;
    std::vector<size_t> found;
    if (!asked.empty()) {
      found = asked_columns(columns, rows_.name, asked);
    } else if (const std::optional<size_t> named = named_label(columns)) {
      found = {*named};
    } else {
      for (size_t i = 0; i < columns.count(); ++i) {
        if (i != file_column_) found.push_back(i);
      }
    }
    if (std::find(found.begin(), found.end(), file_column_) == found.end()) return found;
    fail_request(
        "--label-column: expected labels or values, found column '{}' of {}, which has "
        "the pictures' names",
        columns.names[file_column_], rows_.name);
  }

  /// Takes these columns for labels.
  void choose(const std::vector<size_t>& columns) {
    names_.clear();
    chosen_.clear();
    for (const size_t column : columns) names_.push_back(rows_.columns.names[column]);
    for (size_t row = 0; row < rows_.lines.size(); ++row) {
      for (const size_t column : columns) {
        chosen_.push_back(text(row, column));
        if (!chosen_.back().empty()) continue;
        fail_request("{}:{}: expected a label in column '{}', found nothing", rows_.name,
                     rows_.lines[row], rows_.columns.names[column]);
      }
    }
  }
  Texts texts() const { return {chosen_, names_, rows_.lines, rows_.name}; }

  std::vector<fs::path> pictures() const {
    std::vector<fs::path> files;
    for (size_t row = 0; row < rows_.lines.size(); ++row) {
      const std::string& name = text(row, file_column_);
      if (!names_picture(folder_, name)) {
        fail_request("{}:{}: expected the name of a picture below {}, found '{}'", rows_.name,
                     rows_.lines[row], folder_.string(), name);
      }
      files.push_back(folder_ / name);
    }
    return files;
  }

  std::unique_ptr<PictureFiles> read(const TextTargets& targets, const fs::path& path) const {
    DatasetInfo info{.name = path.string()};
    targets.describe(info);
    return std::make_unique<PictureFiles>(std::move(info), pictures(), targets.read(texts()));
  }

 private:
  const std::string& text(size_t row, size_t column) const {
    return rows_.labels[row * rows_.columns.count() + column];
  }

  fs::path folder_;
  CsvRows rows_;
  size_t file_column_ = 0;
  std::vector<std::string> names_;   // of the label columns
  std::vector<std::string> chosen_;  // their texts
};

}  // namespace

bool has_picture_table(const fs::path& path) { return find_tables(path).has_value(); }

std::vector<fs::path> pictures_of_table(const fs::path& table) {
  return PictureTable(table).pictures();
}

Splits open_picture_table(const fs::path& path, const std::string& label_column, TargetKind kind) {
  const std::optional<Tables> tables = find_tables(path);
  SYRTOS_CHECK(tables, "{}", path.string());
  PictureTable train(tables->train);
  const std::vector<size_t> columns = train.label_columns(label_column);
  train.choose(columns);
  const TextTargets targets(train.texts(), kind);
  std::unique_ptr<PictureFiles> pictures = train.read(targets, path);
  if (!tables->test) return settled(std::move(pictures), nullptr);
  PictureTable test(*tables->test);
  if (columns != test.label_columns(label_column)) {
    fail_request("{}: expected labels in the same columns as in {}, found other columns",
                 tables->test->string(), tables->train.string());
  }
  test.choose(columns);
  return settled(std::move(pictures), test.read(targets, path));
}

}  // namespace syrtos::data
