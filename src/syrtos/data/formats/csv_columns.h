#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace syrtos::data {

/// What the columns of a CSV file mean.
struct CsvColumns {
  std::vector<std::string> names;  ///< of the first line, or of numbers from 1
  std::vector<size_t> labels;      ///< those with labels or values to predict, from 0
  bool has_names = false;          ///< the first line has names
  bool certain = false;            ///< somebody, or a name of the first line, says which they are
  std::string note = {};           ///< for people, when another one might be meant

  size_t count() const { return names.size(); }
  bool is_label(size_t column) const;
};

/// What the columns are called, and whether that stands in the first line; none is a label yet.
/// Throws RequestError for a file without lines or columns.
CsvColumns csv_columns(std::string_view text, const std::string& name);

/// Columns separated by commas, each as a number from 1, "first", "last" or its name, in that
/// order. Throws RequestError for one that is not there, or when none would be left.
std::vector<size_t> asked_columns(const CsvColumns& columns, const std::string& name,
                                  const std::string& asked);
/// Of those that are no labels, in their order.
std::vector<std::string> feature_names(const CsvColumns& columns);
/// The one that the first line calls label, class, target, ...
std::optional<size_t> named_label(const CsvColumns& columns);

/// `asked`: the columns of labels or values, as asked_columns() takes them; empty: it is found out.
/// Then it is the one that the first line calls label, class, target, ..., or the only one that is
/// not all numbers, or the first, or the last where the first cannot hold labels. Throws
/// RequestError.
CsvColumns find_csv_columns(std::string_view text, const std::string& name,
                            const std::string& asked);

}  // namespace syrtos::data
