#include "syrtos/data/formats/number_targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "syrtos/base/error.h"
#include "syrtos/data/sets/split.h"

namespace syrtos::data {

namespace {

constexpr float kMostLabel = 65535;
constexpr size_t kFewClasses = 100;

bool is_label(float value) {
  return value >= 0 && value <= kMostLabel && value == std::floor(value);
}

std::span<const float> row_of(const Numbers& numbers, int64_t sample) {
  return numbers.values.subspan(static_cast<size_t>(sample * numbers.each),
                                static_cast<size_t>(numbers.each));
}

/// The place of the only 1 among zeros; -1: there is no such.
int64_t place_of_one(std::span<const float> row) {
  const auto one = std::find(row.begin(), row.end(), 1.0F);
  const auto zeros = std::count(row.begin(), row.end(), 0.0F);
  const bool single = zeros + 1 == static_cast<int64_t>(row.size());
  return one != row.end() && single ? one - row.begin() : -1;
}

bool is_one_hot(const Numbers& numbers) {
  for (int64_t i = 0; i < numbers.samples(); ++i) {
    if (place_of_one(row_of(numbers, i)) < 0) return false;
  }
  return numbers.each > 1;
}

/// Whole numbers that are few, or nearly all from 0 to the largest.
bool are_classes(const Numbers& numbers) {
  const bool whole = std::all_of(numbers.values.begin(), numbers.values.end(),
                                 [](float value) { return value == std::floor(value); });
  if (numbers.each > 1 || !whole) return false;
  const std::set<float> different(numbers.values.begin(), numbers.values.end());
  if (different.size() <= kFewClasses) return true;
  constexpr float kNearly = 0.9F;
  return *different.begin() >= 0 &&
         static_cast<float>(different.size()) >= kNearly * (*different.rbegin() + 1);
}

bool are_binary(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return v == 0 || v == 1; });
}

}  // namespace

NumberTargets::Meaning NumberTargets::meaning_of(const Numbers& training, TargetKind asked) {
  if (asked == TargetKind::values) return Meaning::values;
  if (is_one_hot(training)) return Meaning::one_hot;
  if (asked == TargetKind::classes || are_classes(training)) return Meaning::classes;
  return Meaning::values;
}

NumberTargets::NumberTargets(const Numbers& training, TargetKind asked)
    : meaning_(meaning_of(training, asked)) {
  if (meaning_ == Meaning::values) {
    targets_ = {.values = training.each,
                .shape = training.shape,
                .names = training.names,
                .binary = are_binary(training.values)};
    const auto [low, high] = std::minmax_element(training.values.begin(), training.values.end());
    const bool whole = std::all_of(training.values.begin(), training.values.end(), is_label);
    if (asked == TargetKind::found_out && training.each == 1 && whole) {
      note_ = fmt::format(
          "{}: whole numbers from {} to {} with gaps are taken for values to predict; --loss "
          "cross-entropy takes them for classes",
          training.name, *low, *high);
    }
    return;
  }
  if (meaning_ == Meaning::one_hot) {
    classes_ = training.names.empty() ? numbered_classes(training.each) : training.names;
    if (asked == TargetKind::found_out) {
      note_ = fmt::format(
          "{}: rows with a single 1 are taken for classes; --loss binary-cross-entropy takes them "
          "for labels",
          training.name);
    }
    return;
  }
  if (training.each > 1) {
    fail_request(
        "{}: expected a label for each sample, or rows with a single 1, found {} values for each; "
        "--loss squared-error or binary-cross-entropy learns values or several labels",
        training.name, training.each);
  }
  int32_t most = 0;
  for (int64_t i = 0; i < training.samples(); ++i) most = std::max(most, label_of(training, i));
  classes_ = numbered_classes(most + 1);
}

int32_t NumberTargets::label_of(const Numbers& numbers, int64_t sample) const {
  const float value = row_of(numbers, sample)[0];
  if (!is_label(value)) {
    fail_request(
        "{} expected a label, a whole number from 0 to {}, found {}; {}--loss squared-error "
        "predicts numbers",
        numbers.at(sample), kMostLabel, value, numbers.more);
  }
  if (!classes_.empty() && value >= static_cast<float>(classes_.size())) {
    fail_request("{}: expected labels from 0 to {}, as in training, found {} for sample {}",
                 numbers.name, classes_.size() - 1, value, sample);
  }
  return static_cast<int32_t>(value);
}

Targets NumberTargets::read(const Numbers& numbers) const {
  const int64_t each = meaning_ == Meaning::values    ? targets_.values
                       : meaning_ == Meaning::one_hot ? static_cast<int64_t>(classes_.size())
                                                      : 1;
  if (numbers.each != each) {
    fail_request("{}: expected {} value{} for each sample, as in training, found {}", numbers.name,
                 each, each == 1 ? "" : "s", numbers.each);
  }
  if (meaning_ == Meaning::values) {
    return {{numbers.values.begin(), numbers.values.end()}, each};
  }
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < numbers.samples(); ++i) {
    if (meaning_ == Meaning::classes) {
      labels.push_back(label_of(numbers, i));
      continue;
    }
    const int64_t place = place_of_one(row_of(numbers, i));
    if (place < 0) {
      fail_request("{} expected a single 1 among zeros, as in training, found otherwise",
                   numbers.at(i));
    }
    labels.push_back(static_cast<int32_t>(place));
  }
  return labels;
}

void NumberTargets::describe(DatasetInfo& info) const {
  info.classes = classes_;
  info.targets = targets_;
  if (!note_.empty()) info.notes.push_back(note_);
}

}  // namespace syrtos::data
