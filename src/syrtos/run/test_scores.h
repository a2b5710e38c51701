#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "syrtos/run/directory.h"

namespace syrtos::run {

/// How often a label was found.
struct LabelCounts {
  int64_t found = 0;   ///< samples that have it and are said to have it
  int64_t wrong = 0;   ///< that have it not and are said to have it
  int64_t missed = 0;  ///< that have it and are said to have it not
  std::optional<double> average_precision = {};

  bool operator==(const LabelCounts&) const = default;
};

/// How far predictions of a value are off, in its own unit.
struct ValueErrors {
  double mae = 0;
  double rmse = 0;
  double r2 = 0;
  std::vector<std::pair<float, float>> points = {};  ///< some samples: true and predicted value

  bool operator==(const ValueErrors&) const = default;
};

/// scores.json: what the best epoch's predictions of test samples came to, class by class, label by
/// label or value by value.
struct TestScores {
  int64_t epoch = 0;         ///< 0: it was measured after the training
  std::string set = "test";  ///< what was measured on: "test" or "validation"
  int64_t samples = 0;
  std::vector<std::string> names;  ///< of the classes, labels or values
  std::vector<int64_t> confusion;  ///< of classes: [class, taken for]
  std::vector<LabelCounts> labels;
  std::vector<ValueErrors> values;

  bool empty() const { return confusion.empty() && labels.empty() && values.empty(); }
  bool operator==(const TestScores&) const = default;
};

nlohmann::json to_json(const TestScores& scores);

/// Throws RunError.
void write(const Directory& directory, const TestScores& scores);
/// Nothing when it is missing or damaged (which is noted).
std::optional<TestScores> read_test_scores(const Directory& directory, Notes& notes);

}  // namespace syrtos::run
