#pragma once

#include <string>
#include <vector>

namespace syrtos::report {

/// Texts in rows and columns: the first column has names, the others numbers.
struct ScoreTable {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<std::vector<std::string>> means = {};  ///< Set apart from the rows.
};

/// Names to the left, numbers to the right, an empty line before the means.
std::string to_text(const ScoreTable& table);

}  // namespace syrtos::report
