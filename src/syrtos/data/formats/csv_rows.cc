#include "syrtos/data/formats/csv_rows.h"

#include "syrtos/base/error.h"
#include "syrtos/data/formats/csv_columns.h"
#include "syrtos/data/formats/csv_fields.h"

namespace syrtos::data {

namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::string& name, const std::string& label_column)
      : lines_(text), columns_(find_csv_columns(text, name, label_column)), rows_{.name = name} {
    rows_.width = static_cast<int64_t>(columns_.count) - 1;
    rows_.label_column = columns_.label + 1;
    rows_.note = columns_.note;
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
    if (rows_.labels.empty()) {
      fail_request("{}: expected lines of a label and numbers, found none", rows_.name);
    }
    return std::move(rows_);
  }

 private:
  void add_row() {
    if (fields_.size() != columns_.count) {
      fail(fields_.back().column, fmt::format("{} columns, as in the first line", columns_.count),
           fmt::format("{}", fields_.size()));
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const CsvField& field = fields_[i];
      if (i == columns_.label) {
        if (field.text.empty()) fail(field.column, "a label", "nothing");
        rows_.labels.emplace_back(field.text);
        continue;
      }
      float value = 0;
      if (!parse_csv_number(field.text, value)) {
        fail(field.column, "a finite number",
             fmt::format("'{}'; labels are in column {}: --label-column says another",
                         field.text.substr(0, 40), columns_.label + 1));
      }
      rows_.values.push_back(value);
    }
    rows_.lines.push_back(lines_.number());
  }

  [[noreturn]] void fail(size_t column, const std::string& expected,
                         const std::string& found) const {
    fail_request("{}:{}:{}: expected {}, found {}", rows_.name, lines_.number(), column, expected,
                 found);
  }

  CsvLines lines_;
  CsvColumns columns_;
  CsvRows rows_;
  std::vector<CsvField> fields_;
};

}  // namespace

CsvRows parse_csv(std::string_view text, const std::string& name, const std::string& label_column) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte-order mark
  return Parser(text, name, label_column).run();
}

}  // namespace syrtos::data
