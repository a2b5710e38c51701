#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/job/views.h"
#include "syrtos/run/metric.h"
#include "syrtos/run/test_scores.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

/// What test samples came to.
struct Evaluation {
  double loss = 0;          ///< the mean, without what is for training alone
  run::Scores scores = {};  ///< what the task is measured by
  int64_t samples = 0;
  double seconds = 0;
  std::vector<double> sums = {};  ///< that both are made of, see ScoreSums
  run::TestScores details = {};   ///< class by class and so on

  /// Of one of the scores; NaN: it is not among them.
  double value(std::string_view metric) const { return run::value_of(scores, metric); }
};

/// What is measured on, and how.
struct TestData {
  const data::Dataset& data;
  const data::Transform& transform;
  std::vector<job::View> views;
  int prefetch = 4;
  data::Shard shard = {};  ///< which part of the data is measured here
  /// Whether details are to have all there is: every pair of classes, the average precision of
  /// labels, points of values. Of the whole data only.
  bool report = false;
  bool images = true;  ///< false: the network reads none
};

class ScoreSums;

/// Test data on its way through a network, batch by batch, once for each view; outputs are averaged
/// over them.
class TestRun {
 public:
  enum class Keep { score, logits };

  /// Data and task outlive it. The network takes `batch` samples.
  TestRun(const TestData& test, const nn::Task& task, int64_t batch, Keep keep = Keep::score);
  ~TestRun();

  /// Goes to the next batch of the shard; false: there is none.
  bool next();
  const data::Batch& batch() const { return current_; }
  /// What the network found for it, [batch, outputs].
  void add(std::span<const float> logits);
  /// Whether there is a result only when all was added.
  bool keeps_rows() const;
  /// In the end; nothing where nothing was added.
  Evaluation result();
  /// Of all samples, row by row; only those of the shard are filled.
  std::vector<float> take_logits() { return std::move(rows_); }

 private:
  const TestData& test_;
  const nn::Task& task_;
  const int64_t batch_;
  const Keep keep_;
  const Clock::time_point begun_ = Clock::now();
  size_t view_ = 0;  // the one after the current
  std::optional<data::Loader> loader_;
  data::Batch current_;
  size_t outputs_ = 0;
  std::unique_ptr<ScoreSums> scores_;
  std::vector<float> rows_;
};

/// Runs the program over the data (its shard), once for each view, and averages the outputs.
/// `should_stop` is asked between batches and ends it early.
Evaluation evaluate(NetworkProgram& network, const TestData& test,
                    const std::function<bool()>& should_stop = {});

/// The outputs of all samples, row by row, averaged over the views; empty when it was stopped.
std::vector<float> logits_of(NetworkProgram& network, const TestData& test,
                             const std::function<bool()>& should_stop = {});

/// The mean, over the samples that have a label, of the precision among those whose score is not
/// lower; 0 when none has it.
double average_precision(std::span<const float> scores, std::span<const float> targets);

}  // namespace syrtos::train
