#include "syrtos/data/formats/csv_rows.h"

#include "syrtos/base/error.h"
#include "syrtos/data/formats/csv_fields.h"

namespace syrtos::data {

namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name, CsvColumns columns)
      : lines_(text), rows_{.name = name, .columns = std::move(columns)} {
    rows_.width = static_cast<int64_t>(columns_.count() - columns_.labels.size());
  }

  CsvRows run() {
    std::string_view line;
    char separator = 0;
    while (lines_.next(line)) {
      const bool first = separator == 0;
      if (first) separator = csv_separator(line);
      split_csv(line, separator, fields_);
      for (const CsvField& field : fields_) {
        if (!field.closed) fail(field.column, "a closing quote", "the end of the line");
      }
      if (!first || !columns_.has_names) add_row();
    }
    if (rows_.lines.empty()) {
      fail_request("{}: expected lines of a label and numbers, found none", rows_.name);
    }
    return std::move(rows_);
  }

 private:
  void add_row() {
    if (fields_.size() != columns_.count()) {
      fail(fields_.back().column, fmt::format("{} columns, as in the first line", columns_.count()),
           fmt::format("{}", fields_.size()));
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const CsvField& field = fields_[i];
      if (columns_.is_label(i)) continue;
      float value = 0;
      if (!parse_csv_number(field.text, value)) {
        fail(field.column, "a finite number",
             fmt::format("'{}'; {}: --label-column says {}", field.text.substr(0, 40),
                         labels_text(), columns_.labels.size() == 1 ? "another" : "others"));
      }
      rows_.values.push_back(value);
    }
    for (const size_t column : columns_.labels) {
      const CsvField& field = fields_[column];
      if (field.text.empty() && rows_.width > 0) fail(field.column, "a label", "nothing");
      rows_.labels.push_back(field.meant());
    }
    rows_.lines.push_back(lines_.number());
  }

  /// "labels are in column 3 ('kind')", "labels or values are in columns 2 and 3"
  std::string labels_text() const {
    std::string text;
    for (const size_t column : columns_.labels) {
      text += fmt::format("{}{}{}", text.empty() ? "" : ", ", column + 1,
                          columns_.has_names ? fmt::format(" ('{}')", columns_.names[column]) : "");
    }
    return columns_.labels.size() == 1 ? "labels are in column " + text
                                       : "labels or values are in columns " + text;
  }

  [[noreturn]] void fail(size_t column, const std::string& expected,
                         const std::string& found) const {
    fail_request("{}:{}:{}: expected {}, found {}", rows_.name, lines_.number(), column, expected,
                 found);
  }

  CsvLines lines_;
  CsvRows rows_;
  const CsvColumns& columns_ = rows_.columns;
  std::vector<CsvField> fields_;
};

}  // namespace

CsvRows parse_csv(std::string_view text, const std::string& name, const std::string& label_column) {
  text = csv_text(text, name);
  return Parser(text, name, find_csv_columns(text, name, label_column)).run();
}

CsvRows parse_texts(std::string_view text, const std::string& name) {
  text = csv_text(text, name);
  CsvColumns columns = csv_columns(text, name);
  for (size_t i = 0; i < columns.count(); ++i) columns.labels.push_back(i);
  return Parser(text, name, std::move(columns)).run();
}

}  // namespace syrtos::data
