#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syrtos/data/formats/csv_columns.h"

namespace syrtos::data {

/// A file of labelled rows of numbers, as csv.h describes it.
struct CsvRows {
  std::string name;                      ///< for messages
  int64_t width = 0;                     ///< numbers per row
  std::vector<float> values = {};        ///< row after row
  std::vector<std::string> labels = {};  ///< texts of the label columns, row after row
  std::vector<int64_t> lines = {};       ///< where each row stands, from 1
  CsvColumns columns = {};
};

/// `label_column` as in csv_columns.h. Throws RequestError that says file:line:column, what was
/// expected and what was found.
CsvRows parse_csv(std::string_view text, const std::string& name,
                  const std::string& label_column = {});

/// Every column as texts, which may be empty: those of a row are in `labels`.
CsvRows parse_texts(std::string_view text, const std::string& name);

}  // namespace syrtos::data
