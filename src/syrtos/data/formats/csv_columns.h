#pragma once

#include <string>
#include <string_view>

namespace syrtos::data {

/// What the columns of a CSV file mean.
struct CsvColumns {
  size_t count = 0;
  size_t label = 0;        ///< the one with labels, from 0
  bool has_names = false;  ///< the first line has names
  std::string note = {};   ///< for people, when another one might be meant
};

/// `asked`: the label's column as a number from 1, "first", "last" or its name; empty: it is found
/// out. Then it is the one that the first line calls label, class, target, ..., or the only one
/// that is not all numbers, or the first, or the last where the first cannot hold labels. Throws
/// RequestError.
CsvColumns find_csv_columns(std::string_view text, const std::string& name,
                            const std::string& asked);

}  // namespace syrtos::data
