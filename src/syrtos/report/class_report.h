#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "syrtos/report/score_table.h"

namespace syrtos::report {

/// How a class is told from the others. Shares whose divisor is 0 are 0, as scikit-learn has them.
struct ClassScore {
  std::string name = {};
  double precision = 0;  ///< of what was taken for this class, the share that is
  double recall = 0;     ///< of this class, the share that was found
  double f1 = 0;         ///< their harmonic mean
  int64_t samples = 0;   ///< that are of this class
};

/// What a classifier takes for what.
struct ClassReport {
  std::vector<std::string> names;
  std::vector<int64_t> counts;  ///< [class, taken for], row by row
  std::vector<ClassScore> classes = {};
  ClassScore mean = {};      ///< over the classes, each counted once
  ClassScore weighted = {};  ///< each counted by its samples
  double accuracy = 0;

  int64_t count(size_t label, size_t taken_for) const {
    return counts[label * names.size() + taken_for];
  }
};

/// `counts` has a row for each class. Names that are missing are the numbers of their classes.
ClassReport make_class_report(std::vector<int64_t> counts, std::vector<std::string> names);

ScoreTable table_of(const ClassReport& report);
/// The table, and what is confused most often.
std::string to_text(const ClassReport& report);

/// The matrix as a picture, a whole SVG file: a row for each class, darker where more of the row
/// is. Colours follow the reader's light or dark scheme.
std::string to_svg(const ClassReport& report);

}  // namespace syrtos::report
