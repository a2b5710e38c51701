#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "syrtos/report/score_table.h"
#include "syrtos/run/test_scores.h"

// What test samples came to, as people read it: of classes, labels or values.

namespace syrtos::report {

/// Precision, recall and F1 of each class or label, errors of each value, and their means.
ScoreTable table_of(const run::TestScores& scores);

/// The table; below it, which classes are confused most often.
std::string report_text(const run::TestScores& scores);

/// The same for programs: "classes" with "confusion", "labels" or "values", and means.
nlohmann::json report_json(const run::TestScores& scores);

/// A whole SVG file: which class is taken for which, bars of each label, or predictions over the
/// true values. Empty where nothing can be drawn.
std::string report_svg(const run::TestScores& scores);

}  // namespace syrtos::report
