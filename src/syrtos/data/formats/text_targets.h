#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "syrtos/data/formats/csv_rows.h"
#include "syrtos/data/formats/number_targets.h"

namespace syrtos::data {

/// Texts that stand beside samples in lines of a file.
struct Texts {
  std::span<const std::string> texts;  ///< One sample's after the other's.
  std::vector<std::string> names;      ///< Of the columns.
  std::span<const int64_t> lines;      ///< Where each sample stands, from 1.
  std::string name = {};               ///< Of the file, for messages.
  bool certain = true;                 ///< These are the columns that are meant.

  int64_t each() const { return static_cast<int64_t>(names.size()); }
};

/// The label columns of a file.
Texts texts_of(const CsvRows& rows);

/// All of them as numbers. Throws RequestError that names line and column of one that is none.
std::vector<float> parse_numbers(const Texts& texts);

/// What they mean: the names of classes, or numbers (see NumberTargets). Found out from training
/// data, and the same for test data.
class TextTargets {
 public:
  /// Throws RequestError: numbers with fractions in a column that nobody named, or names where
  /// numbers are needed.
  TextTargets(const Texts& training, TargetKind asked);

  /// Throws RequestError for a label that training does not have.
  Targets read(const Texts& texts) const;
  /// Puts classes or targets there.
  void describe(DatasetInfo& info) const;

 private:
  std::vector<std::string> classes_;  // sorted; none: they are numbers
  std::optional<NumberTargets> numbers_;
};

}  // namespace syrtos::data
