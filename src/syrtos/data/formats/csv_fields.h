#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// What lines of a CSV file consist of, for the other files about CSV.

namespace syrtos::data {

/// The text of a file without its byte-order mark. Throws RequestError for UTF-16, and for what is
/// no text.
std::string_view csv_text(std::string_view text, const std::string& name);

struct CsvField {
  std::string_view text = {};  ///< without quotes and blanks around; quotes within are doubled
  size_t column = 0;           ///< where it begins in the line, from 1
  bool closed = true;          ///< false: a quote without its end
  bool quoted = false;

  /// What is meant: two quotes within quotes stand for one.
  std::string meant() const;
};

/// Lines that have anything in them, one after the other.
class CsvLines {
 public:
  explicit CsvLines(std::string_view text) : text_(text) {}

  bool next(std::string_view& line);
  /// Of the last one, from 1.
  int64_t number() const { return number_; }

 private:
  std::string_view text_;
  int64_t number_ = 0;
};

/// Tab or semicolon, where the line has one, else the comma.
char csv_separator(std::string_view line);
void split_csv(std::string_view line, char separator, std::vector<CsvField>& fields);
/// Whether the text is a finite number, which is in `value` then.
bool parse_csv_number(std::string_view text, float& value);

}  // namespace syrtos::data
