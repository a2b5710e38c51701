#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::data {

/// A file of labelled rows of numbers, as csv.h describes it.
struct CsvRows {
  std::string name;                ///< for messages
  int64_t width = 0;               ///< numbers per row
  std::vector<float> values = {};  ///< row after row
  std::vector<std::string> labels = {};
  std::vector<int64_t> lines = {};  ///< where each row stands, from 1
  size_t label_column = 0;          ///< from 1
  std::string note = {};            ///< for people, when it is not plain where the labels are
};

/// `label_column` as in csv_columns.h. Throws RequestError that says file:line:column, what was
/// expected and what was found.
CsvRows parse_csv(std::string_view text, const std::string& name,
                  const std::string& label_column = {});

}  // namespace syrtos::data
