#include "syrtos/data/formats/csv_fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::data {

namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Where the quotes that open at `open` end; npos when they do not.
size_t closing_quote(std::string_view line, size_t open) {
  for (size_t i = open + 1; i < line.size(); ++i) {
    if (line[i] != '"') continue;
    if (i + 1 == line.size() || line[i + 1] != '"') return i;
    ++i;  // two of them stand for one within the text
  }
  return std::string_view::npos;
}

}  // namespace

std::string CsvField::meant() const {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (quoted && text[i] == '"' && i + 1 < text.size() && text[i + 1] == '"') ++i;
  }
  return result;
}

std::string_view csv_text(std::string_view text, const std::string& name) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  const size_t zero = text.substr(0, 1 << 16).find('\0');
  const bool marked = text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff");
  if (marked || (zero != text.npos && zero < 2)) {
    fail_request(
        "{}: expected text in UTF-8, found UTF-16, as spreadsheets save \"Unicode text\"; save it "
        "as \"CSV UTF-8\", or: iconv -f UTF-16 -t UTF-8",
        name);
  }
  if (const size_t any = text.find('\0'); any != text.npos) {
    fail_request("{}: expected text, found a byte of value 0 at offset {}; is it damaged?", name,
                 any);
  }
  return text;
}

bool CsvLines::next(std::string_view& line) {
  while (!text_.empty()) {
    const size_t end = text_.find('\n');
    line = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    ++number_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!trim(line).empty()) return true;
  }
  return false;
}

char csv_separator(std::string_view line) {
  for (const char separator : {'\t', ';'}) {
    if (line.find(separator) != std::string_view::npos) return separator;
  }
  return ',';
}

void split_csv(std::string_view line, char separator, std::vector<CsvField>& fields) {
  fields.clear();
  size_t at = 0;
  while (true) {
    const size_t begin = std::min(line.find_first_not_of(' ', at), line.size());
    size_t end = begin;
    CsvField field{.column = begin + 1};
    if (begin < line.size() && line[begin] == '"') {
      end = closing_quote(line, begin);
      field.closed = end != std::string_view::npos;
    }
    end = std::min(line.find(separator, end), line.size());
    field.text = trim(line.substr(begin, end - begin));
    if (field.text.size() >= 2 && field.text.front() == '"' && field.text.back() == '"') {
      field.text = field.text.substr(1, field.text.size() - 2);
      field.quoted = true;
    }
    fields.push_back(field);
    if (end == line.size()) return;
    at = end + 1;
  }
}

bool parse_csv_number(std::string_view text, float& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

}  // namespace syrtos::data
