#include "syrtos/data/formats/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>

#include "syrtos/base/error.h"
#include "syrtos/data/files/file_bytes.h"
#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/sets/split.h"
#include "syrtos/data/sets/table.h"

namespace syrtos::data {

namespace fs = std::filesystem;

namespace {

constexpr int32_t kMostLabel = 65535;

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

std::optional<double> number_in(const std::string& text) {
  double value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool good = error == std::errc() && end == text.data() + text.size();
  return good ? std::optional(value) : std::nullopt;
}

std::optional<int32_t> whole_number(const std::string& text) {
  const std::optional<double> value = number_in(text);
  const bool whole = value && *value >= 0 && *value <= kMostLabel && *value == std::floor(*value);
  return whole ? std::optional(static_cast<int32_t>(*value)) : std::nullopt;
}

/// What the labels of the training rows mean.
class Classes {
 public:
  explicit Classes(const CsvRows& rows) {
    const std::vector<std::string>& labels = rows.labels;
    refuse_measures(rows);
    numbers_ = std::all_of(labels.begin(), labels.end(), [](const std::string& label) {
      return whole_number(label).has_value();
    });
    if (numbers_) {
      int32_t most = 0;
      for (const std::string& label : labels) most = std::max(most, *whole_number(label));
      names = numbered_classes(most + 1);
      return;
    }
    names = labels;
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }

  std::vector<int32_t> numbers(const CsvRows& rows) const {
    std::vector<int32_t> result;
    for (const std::string& label : rows.labels) {
      const std::optional<int32_t> number = find(label);
      if (!number) {
        fail_request("{}:{}: expected a label that is in the training data, found '{}'", rows.name,
                     rows.lines[result.size()], label);
      }
      result.push_back(*number);
    }
    return result;
  }

  std::vector<std::string> names;

 private:
  /// Numbers with fractions are what is measured, not what is to be told apart.
  static void refuse_measures(const CsvRows& rows) {
    for (size_t i = 0; i < rows.labels.size(); ++i) {
      const std::optional<double> value = number_in(rows.labels[i]);
      if (!value) return;  // a text: names
      if (*value == std::floor(*value)) continue;
      fail_request("{}:{}: expected a label, found '{}'; which column has them? See --label-column",
                   rows.name, rows.lines[i], rows.labels[i]);
    }
  }

  std::optional<int32_t> find(const std::string& label) const {
    if (numbers_) {
      const std::optional<int32_t> number = whole_number(label);
      return number && *number < static_cast<int32_t>(names.size()) ? number : std::nullopt;
    }
    const auto found = std::lower_bound(names.begin(), names.end(), label);
    if (found == names.end() || *found != label) return std::nullopt;
    return static_cast<int32_t>(found - names.begin());
  }

  bool numbers_ = false;
};

std::unique_ptr<Table> make_table(const CsvRows& rows, const Classes& classes,
                                  const fs::path& path) {
  std::vector<std::string> notes;
  if (!rows.note.empty()) notes.push_back(rows.note);
  std::vector<uint8_t> bytes(rows.values.size() * sizeof(float));
  std::memcpy(bytes.data(), rows.values.data(), bytes.size());
  return std::make_unique<Table>(DatasetInfo{.name = path.string(),
                                             .dtype = DType::f32,
                                             .channels = 1,
                                             .height = 1,
                                             .width = rows.width,
                                             .classes = classes.names,
                                             .notes = notes},
                                 std::move(bytes), classes.numbers(rows));
}

}  // namespace

bool has_csv(const fs::path& path) {
  if (is_file(path)) return path.extension() == ".csv" || path.extension() == ".tsv";
  return find_pair(path) != nullptr;
}

Splits open_csv(const fs::path& path, const std::string& label_column) {
  const char* extension = find_pair(path);
  if (extension == nullptr) {
    const CsvRows rows = read_rows(path, label_column);
    return split_every_tenth(make_table(rows, Classes(rows), path));
  }
  const CsvRows train = read_rows(path / (std::string("train") + extension), label_column);
  const CsvRows test =
      read_rows(path / (std::string("test") + extension), std::to_string(train.label_column));
  if (train.width != test.width) {
    fail_request("{}:{}: expected {} numbers, as in {}, found {}", test.name, test.lines[0],
                 train.width, train.name, test.width);
  }
  const Classes classes(train);
  return {make_table(train, classes, path), make_table(test, classes, path)};
}

}  // namespace syrtos::data
