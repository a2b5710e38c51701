#pragma once

#include <optional>
#include <string>
#include <vector>

#include "syrtos/report/score_table.h"
#include "syrtos/run/test_scores.h"

namespace syrtos::report {

/// How well a label is found. Shares whose divisor is 0 are 0, as scikit-learn has them.
struct LabelScore {
  std::string name = {};
  double precision = 0;  ///< of the samples that are said to have it, the share that has
  double recall = 0;     ///< of those that have it, the share that was found
  double f1 = 0;
  std::optional<double> average_precision = {};
  int64_t samples = 0;  ///< that have it
};

struct LabelReport {
  std::vector<LabelScore> labels;
  LabelScore mean;      ///< over the labels, each counted once
  LabelScore weighted;  ///< each counted by its samples
  LabelScore together;  ///< of all labels in one (micro)
};

LabelReport make_label_report(const run::TestScores& scores);
ScoreTable table_of(const LabelReport& report);
/// Bars of each label.
std::string to_svg(const LabelReport& report);

/// One square for each value: predictions over the true values, with the diagonal.
std::string values_svg(const run::TestScores& scores);

}  // namespace syrtos::report
