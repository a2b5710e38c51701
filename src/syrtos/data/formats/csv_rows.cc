#include "syrtos/data/formats/csv_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

constexpr std::array<std::string_view, 3> kLabelNames = {"label", "class", "target"};

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

struct Field {
  std::string_view text = {};  ///< without quotes and blanks around
  size_t column = 0;           ///< from 1
  bool closed = true;          ///< false: a quote without its end
};

// Where the quotes that open at `open` end; npos when they do not.
size_t closing_quote(std::string_view line, size_t open) {
  for (size_t i = open + 1; i < line.size(); ++i) {
    if (line[i] != '"') continue;
    if (i + 1 == line.size() || line[i + 1] != '"') return i;
    ++i;  // two of them stand for one within the text
  }
  return std::string_view::npos;
}

void split(std::string_view line, char separator, std::vector<Field>& fields) {
  fields.clear();
  size_t at = 0;
  while (true) {
    const size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
    size_t end = begin;
    Field field{.column = begin + 1};
    if (begin < line.size() && line[begin] == '"') {
      end = closing_quote(line, begin);
      field.closed = end != std::string_view::npos;
    }
    end = std::min(line.find(separator, end), line.size());
    field.text = trim(line.substr(begin, end - begin));
    if (field.text.size() >= 2 && field.text.front() == '"' && field.text.back() == '"') {
      field.text = field.text.substr(1, field.text.size() - 2);
    }
    fields.push_back(field);
    if (end == line.size()) return;
    at = end + 1;
  }
}

bool parse_number(std::string_view text, float& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

bool is_label_name(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(kLabelNames.begin(), kLabelNames.end(), lower) != kLabelNames.end();
}

char find_separator(std::string_view line) {
  for (const char separator : {'\t', ';'}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return ',';
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& name) : text_(text), rows_{.name = name} {}

  CsvRows run() {
    std::string_view line;
    while (next_line(line)) {
      if (rows_.width == 0) separator_ = find_separator(line);
      split(line, separator_, fields_);
      for (const Field& field : fields_) {
        if (!field.closed) fail(field.column, "a closing quote", "the end of the line");
      }
      if (rows_.width == 0 && first_line()) continue;
      add_row();
    }
    if (rows_.labels.empty()) {
      fail_request("{}: expected lines of a label and numbers, found none", rows_.name);
    }
    return std::move(rows_);
  }

 private:
  bool next_line(std::string_view& line) {
    while (!text_.empty()) {
      const size_t end = text_.find('\n');
      line = text_.substr(0, end);
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
      ++line_;
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!trim(line).empty()) return true;
    }
    return false;
  }

  // Learns the columns. True when the line has their names.
  bool first_line() {
    if (fields_.size() < 2) {
      fail(1, "a label and at least one number, separated by , ; or tab",
           fmt::format("'{}'", fields_[0].text.substr(0, 40)));
    }
    rows_.width = static_cast<int64_t>(fields_.size()) - 1;
    float ignored = 0;
    bool numbers = false;
    bool named = false;
    for (size_t i = 0; i < fields_.size(); ++i) {
      numbers = numbers || parse_number(fields_[i].text, ignored);
      if (!named && is_label_name(fields_[i].text)) {
        label_column_ = i;
        named = true;
      }
    }
    return named || !numbers;
  }

  void add_row() {
    if (static_cast<int64_t>(fields_.size()) != rows_.width + 1) {
      fail(fields_.back().column, fmt::format("{} columns, as in the first line", rows_.width + 1),
           fmt::format("{}", fields_.size()));
    }
    for (size_t i = 0; i < fields_.size(); ++i) {
      const Field& field = fields_[i];
      if (i == label_column_) {
        if (field.text.empty()) fail(field.column, "a label", "nothing");
        rows_.labels.emplace_back(field.text);
        continue;
      }
      float value = 0;
      if (!parse_number(field.text, value)) {
        fail(field.column, "a finite number",
             fmt::format("'{}'; labels are in the first column, or in the one that the first line "
                         "calls label, class or target",
                         field.text.substr(0, 40)));
      }
      rows_.values.push_back(value);
    }
    rows_.lines.push_back(line_);
  }

  [[noreturn]] void fail(size_t column, const std::string& expected,
                         const std::string& found) const {
    fail_request("{}:{}:{}: expected {}, found {}", rows_.name, line_, column, expected, found);
  }

  std::string_view text_;
  CsvRows rows_;
  char separator_ = ',';
  size_t label_column_ = 0;
  int64_t line_ = 0;
  std::vector<Field> fields_;
};

}  // namespace

CsvRows parse_csv(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // a byte-order mark
  return Parser(text, name).run();
}

}  // namespace syrtos::data
