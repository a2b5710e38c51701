#pragma once

#include <span>
#include <vector>

#include "syrtos/nn/task.h"
#include "syrtos/run/metric.h"
#include "syrtos/run/test_scores.h"
#include "syrtos/train/network/outputs.h"

namespace syrtos::train {

/// What test samples came to, as sums that add up over workers: of classes how often each was taken
/// for which, of labels how often each was found, of values the errors.
class ScoreSums {
 public:
  /// Of more than 100 classes the pairs are counted only if `all_pairs`.
  ScoreSums(const nn::Task& task, int64_t outputs, bool all_pairs = false);

  void add(std::span<const float> outputs, const data::Target& target);

  /// As plain numbers, for other workers.
  const std::vector<double>& sums() const { return sums_; }
  /// Adds those of another worker. Throws RunError when they are of something else.
  void merge(const std::vector<double>& sums);

  int64_t samples() const { return static_cast<int64_t>(sums_[0]); }
  double loss() const;
  /// What job::test_metrics() lists.
  run::Scores scores() const;
  /// Class by class, label by label or value by value; of classes whose pairs are not counted
  /// nothing.
  run::TestScores details(const std::vector<std::string>& names) const;

 private:
  void add_class(std::span<const float> outputs, int32_t label);
  void add_labels(std::span<const float> outputs, std::span<const float> values);
  void add_values(std::span<const float> outputs, const data::Target& target);
  std::vector<run::LabelCounts> label_counts() const;
  std::vector<run::ValueErrors> value_errors() const;
  double& at(size_t group, size_t output) { return sums_[kFirst + group * outputs_ + output]; }
  double at(size_t group, size_t output) const { return sums_[kFirst + group * outputs_ + output]; }

  static constexpr size_t kFirst = 2;  // behind samples and loss
  nn::Task task_;
  size_t outputs_;
  std::vector<double> sums_;
};

}  // namespace syrtos::train
