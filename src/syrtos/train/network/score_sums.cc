#include "syrtos/train/network/score_sums.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"

namespace syrtos::train {

namespace {

constexpr int64_t kMostConfused = 100;  // classes of which every pair is counted

// Groups of sums, one for each output.
enum Classes : size_t { kRight, kTop5, kClassGroups };  // of classes: single numbers
enum Labels : size_t { kFound, kWrong, kMissed, kRightLabels, kLabelGroups };
enum Values : size_t { kAbsolute, kSquares, kTargets, kTargetSquares, kValueGroups };

size_t numbers_of(const nn::Task& task, int64_t outputs, bool all_pairs) {
  const auto count = static_cast<size_t>(outputs);
  const bool pairs = all_pairs || outputs <= kMostConfused;
  if (task.has_classes()) return kClassGroups + (pairs ? count * count : 0);
  return count * (task.has_labels() ? size_t{kLabelGroups} : size_t{kValueGroups});
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

double f1_of(const run::LabelCounts& label) {
  const auto found = static_cast<double>(2 * label.found);
  return ratio(found, found + static_cast<double>(label.wrong + label.missed));
}

}  // namespace

ScoreSums::ScoreSums(const nn::Task& task, int64_t outputs, bool all_pairs)
    : task_(task),
      outputs_(static_cast<size_t>(outputs)),
      sums_(kFirst + numbers_of(task, outputs, all_pairs)) {}

void ScoreSums::add(std::span<const float> outputs, const data::Target& target) {
  sums_[0] += 1;
  sums_[1] += loss_of(task_, outputs, target);
  if (task_.has_classes()) {
    add_class(outputs, target.label);
  } else if (task_.has_labels()) {
    add_labels(outputs, target.values);
  } else {
    add_values(outputs, target);
  }
}

void ScoreSums::add_class(std::span<const float> outputs, int32_t label) {
  const auto taken_for = static_cast<size_t>(argmax(outputs));
  const auto own = static_cast<size_t>(label);
  double* const numbers = sums_.data() + kFirst;
  numbers[kRight] += taken_for == own ? 1 : 0;
  numbers[kTop5] += among_top(outputs, label, 5) ? 1 : 0;
  if (sums_.size() > kFirst + kClassGroups) {
    numbers[kClassGroups + own * outputs_ + taken_for] += 1;
  }
}

void ScoreSums::add_labels(std::span<const float> outputs, std::span<const float> values) {
  for (size_t k = 0; k < outputs_; ++k) {
    const bool said = outputs[k] > 0;
    const bool has = values[k] > 0.5F;
    at(kFound, k) += said && has ? 1 : 0;
    at(kWrong, k) += said && !has ? 1 : 0;
    at(kMissed, k) += !said && has ? 1 : 0;
    at(kRightLabels, k) += said == has ? 1 : 0;
  }
}

// In the task's scale, so that sums of squares keep their digits.
void ScoreSums::add_values(std::span<const float> outputs, const data::Target& target) {
  for (size_t k = 0; k < outputs_; ++k) {
    const double wanted = scaled_target(task_, target, k);
    const double off = outputs[k] - wanted;
    at(kAbsolute, k) += std::abs(off);
    at(kSquares, k) += off * off;
    at(kTargets, k) += wanted;
    at(kTargetSquares, k) += wanted * wanted;
  }
}

void ScoreSums::merge(const std::vector<double>& sums) {
  if (sums.size() != sums_.size()) {
    fail_run(
        "expected {} sums of test samples of another worker, found {}: it trains something "
        "else",
        sums_.size(), sums.size());
  }
  for (size_t i = 0; i < sums.size(); ++i) sums_[i] += sums[i];
}

double ScoreSums::loss() const { return ratio(sums_[1], sums_[0]); }

std::vector<run::LabelCounts> ScoreSums::label_counts() const {
  std::vector<run::LabelCounts> labels;
  for (size_t k = 0; k < outputs_; ++k) {
    labels.push_back({.found = std::llround(at(kFound, k)),
                      .wrong = std::llround(at(kWrong, k)),
                      .missed = std::llround(at(kMissed, k))});
  }
  return labels;
}

std::vector<run::ValueErrors> ScoreSums::value_errors() const {
  std::vector<run::ValueErrors> errors;
  const double count = std::max(1.0, sums_[0]);
  for (size_t k = 0; k < outputs_; ++k) {
    const double unit = task_.deviation.empty() ? 1 : task_.deviation[k];
    const double mean = at(kTargets, k) / count;
    const double spread = at(kTargetSquares, k) - count * mean * mean;
    const double squares = at(kSquares, k);
    // Of values that never change nothing is explained: as scikit-learn has it.
    const double r2 = spread > 0 ? 1 - squares / spread : squares == 0 ? 1 : 0;
    errors.push_back({.mae = unit * at(kAbsolute, k) / count,
                      .rmse = unit * std::sqrt(squares / count),
                      .r2 = r2});
  }
  return errors;
}

run::Scores ScoreSums::scores() const {
  const double count = std::max(1.0, sums_[0]);
  const auto outputs = static_cast<double>(outputs_);
  if (task_.has_classes()) {
    return {{&run::metric("accuracy"), sums_[kFirst + kRight] / count},
            {&run::metric("top5"), sums_[kFirst + kTop5] / count}};
  }
  if (task_.has_labels()) {
    double f1 = 0;
    double right = 0;
    for (const run::LabelCounts& label : label_counts()) f1 += f1_of(label);
    for (size_t k = 0; k < outputs_; ++k) right += at(kRightLabels, k);
    return {{&run::metric("f1"), f1 / outputs},
            {&run::metric("accuracy"), right / (count * outputs)}};
  }
  run::ValueErrors mean;
  for (const run::ValueErrors& value : value_errors()) {
    mean.mae += value.mae / outputs;
    mean.rmse += value.rmse / outputs;
    mean.r2 += value.r2 / outputs;
  }
  return {{&run::metric("mae"), mean.mae},
          {&run::metric("rmse"), mean.rmse},
          {&run::metric("r2"), mean.r2}};
}

run::TestScores ScoreSums::details(const std::vector<std::string>& names) const {
  run::TestScores details;
  details.samples = samples();
  details.names = names;
  for (size_t k = details.names.size(); k < outputs_; ++k) {
    details.names.push_back(std::to_string(k));
  }
  if (task_.has_labels()) details.labels = label_counts();
  if (task_.has_values()) details.values = value_errors();
  if (!task_.has_classes()) return details;
  for (size_t i = kFirst + kClassGroups; i < sums_.size(); ++i) {
    details.confusion.push_back(std::llround(sums_[i]));
  }
  return details;
}

}  // namespace syrtos::train
