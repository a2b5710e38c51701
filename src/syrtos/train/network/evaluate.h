#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "syrtos/base/clock.h"
#include "syrtos/data/pipeline/loader.h"
#include "syrtos/job/views.h"
#include "syrtos/train/network/compiled_network.h"

namespace syrtos::train {

struct Evaluation {
  double loss = 0;  ///< mean cross-entropy
  double accuracy = 0;
  double top5 = 0;  ///< share of samples whose class is among the five most probable
  int64_t samples = 0;
  double seconds = 0;
  /// [class, taken for]: how often; empty unless it was asked for.
  std::vector<int64_t> confusion = {};
};

/// What is measured on, and how.
struct TestData {
  const data::Dataset& data;
  const data::Transform& transform;
  std::vector<job::View> views;
  int prefetch = 4;
  data::Shard shard = {};  ///< which part of the data is measured here
  bool confusion = false;  ///< whether to count what is taken for what
  bool images = true;      ///< false: the network reads none
};

class Score;

/// Test data on its way through a network, batch by batch, once for each view; logits are averaged
/// over them.
class TestRun {
 public:
  enum class Keep { score, logits };

  /// The data outlives it. The network takes `batch` samples.
  TestRun(const TestData& test, int64_t batch, Keep keep = Keep::score);
  ~TestRun();

  /// Goes to the next batch of the shard; false: there is none.
  bool next();
  const data::Batch& batch() const { return current_; }
  /// What the network found for it, [batch, classes].
  void add(std::span<const float> logits);
  /// In the end; nothing where nothing was added.
  Evaluation result();
  /// Of all samples, row by row; only those of the shard are filled.
  std::vector<float> take_logits() { return std::move(sums_); }

 private:
  const TestData& test_;
  const int64_t batch_;
  const Keep keep_;
  const Clock::time_point begun_ = Clock::now();
  size_t view_ = 0;  // the one after the current
  std::optional<data::Loader> loader_;
  data::Batch current_;
  size_t classes_ = 0;
  std::unique_ptr<Score> score_;
  std::vector<float> sums_;
};

/// Runs the program over the data (its shard), once for each view, and averages the logits.
/// `should_stop` is asked between batches and ends it early.
Evaluation evaluate(NetworkProgram& network, const TestData& test,
                    const std::function<bool()>& should_stop = {});

/// The logits of all samples, row by row, averaged over the views; empty when it was stopped.
std::vector<float> logits_of(NetworkProgram& network, const TestData& test,
                             const std::function<bool()>& should_stop = {});

/// Index of the largest; the first of equals.
int64_t argmax(std::span<const float> values);

/// How many rows of [labels.size(), classes] have their largest value at the label.
int64_t count_correct(std::span<const float> logits, std::span<const int32_t> labels);

/// Whether fewer than `k` values are larger than the label's.
bool among_top(std::span<const float> logits, int32_t label, int k);

/// Softmax of one row, in double precision.
std::vector<double> probabilities(std::span<const float> logits);

}  // namespace syrtos::train
