#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "syrtos/data/dataset.h"

namespace syrtos::data {

/// Numbers that stand beside samples in a file.
struct Numbers {
  std::span<const float> values;           ///< One sample's after the other's.
  int64_t each = 1;                        ///< Of a sample.
  std::vector<int64_t> shape = {};         ///< Of a sample's.
  std::vector<std::string> names = {};     ///< Of a sample's, or none.
  std::string name = {};                   ///< Of the file or array, for messages.
  std::function<std::string(int64_t)> at;  ///< Where a sample's stand, for messages.
  std::string more = {};                   ///< What else to say where they are no labels.

  int64_t samples() const { return static_cast<int64_t>(values.size()) / each; }
};

/// What such numbers mean: found out from training data, and the same for test data.
///
/// One whole number for each sample is its class where there are at most 100 different ones, or
/// where nearly all from 0 on are used. Rows with a single 1 among zeros are classes too (one-hot).
/// Everything else is values. What is asked for (TargetKind) comes first.
class NumberTargets {
 public:
  /// Throws RequestError when classes were asked for and some are none.
  NumberTargets(const Numbers& training, TargetKind asked);

  /// Throws RequestError when they do not mean what those of training do.
  Targets read(const Numbers& numbers) const;
  /// Puts classes or targets there.
  void describe(DatasetInfo& info) const;

 private:
  enum class Meaning : uint8_t { classes, one_hot, values };
  static Meaning meaning_of(const Numbers& training, TargetKind asked);
  int32_t label_of(const Numbers& numbers, int64_t sample) const;

  Meaning meaning_;
  std::vector<std::string> classes_;
  TargetInfo targets_;
  std::string note_;
};

}  // namespace syrtos::data
