#include "syrtos/train/network/evaluate.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::train {

namespace {

double cross_entropy(std::span<const float> logits, int32_t label) {
  const double top = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - top);
  return std::log(sum) + top - logits[static_cast<size_t>(label)];
}

}  // namespace

int64_t argmax(std::span<const float> values) {
  return std::max_element(values.begin(), values.end()) - values.begin();
}

int64_t count_correct(std::span<const float> logits, std::span<const int32_t> labels) {
  const size_t classes = labels.empty() ? 0 : logits.size() / labels.size();
  int64_t correct = 0;
  for (size_t n = 0; n < labels.size(); ++n) {
    correct += argmax(logits.subspan(n * classes, classes)) == labels[n] ? 1 : 0;
  }
  return correct;
}

std::vector<double> probabilities(std::span<const float> logits) {
  const double top = *std::max_element(logits.begin(), logits.end());
  std::vector<double> result;
  double sum = 0;
  for (const float logit : logits) sum += result.emplace_back(std::exp(logit - top));
  for (double& value : result) value /= sum;
  return result;
}

bool among_top(std::span<const float> logits, int32_t label, int k) {
  const float own = logits[static_cast<size_t>(label)];
  return std::count_if(logits.begin(), logits.end(), [&](float v) { return v > own; }) < k;
}

/// Adds up what is asked of test samples.
class Score {
 public:
  /// Counts what is taken for what, of so many classes; 0: does not.
  explicit Score(size_t confused_classes)
      : confused_classes_(confused_classes), confusion_(confused_classes * confused_classes) {}

  void add(std::span<const float> logits, int32_t label) {
    const int64_t taken_for = argmax(logits);
    loss_ += cross_entropy(logits, label);
    correct_ += taken_for == label ? 1 : 0;
    if (confused_classes_ > 0) {
      ++confusion_[static_cast<size_t>(label) * confused_classes_ + static_cast<size_t>(taken_for)];
    }
    top5_ += among_top(logits, label, 5) ? 1 : 0;
    ++samples_;
  }
  Evaluation result() const {
    const auto samples = static_cast<double>(std::max<int64_t>(1, samples_));
    return {.loss = loss_ / samples,
            .accuracy = static_cast<double>(correct_) / samples,
            .top5 = static_cast<double>(top5_) / samples,
            .samples = samples_,
            .confusion = confusion_};
  }

 private:
  size_t confused_classes_;
  std::vector<int64_t> confusion_;
  double loss_ = 0;
  int64_t correct_ = 0;
  int64_t top5_ = 0;
  int64_t samples_ = 0;
};

namespace {

/// The rows of the shard, in order: calls add(sample, its row).
void for_own_rows(const TestData& test, std::span<const float> sums, size_t classes, int64_t batch,
                  const std::function<void(int64_t, std::span<const float>)>& add) {
  data::Slice slice;
  while (!slice.last) {
    slice = data::slice_of(test.data.size(), slice.used, batch * test.shard.workers, test.shard,
                           data::Remainder::short_batch);
    for (int64_t n = slice.first; n < slice.first + slice.count; ++n) {
      add(n, sums.subspan(static_cast<size_t>(n) * classes, classes));
    }
  }
}

}  // namespace

TestRun::TestRun(const TestData& test, int64_t batch, Keep keep)
    : test_(test), batch_(batch), keep_(keep) {}
TestRun::~TestRun() = default;

bool TestRun::next() {
  while (!loader_ || current_.slice.last) {
    if (view_ == test_.views.size()) return false;
    current_ = {};
    loader_.emplace(test_.data, test_.transform,
                    data::LoaderOptions{.batch = batch_ * test_.shard.workers,
                                        .training = false,
                                        .view = test_.views[view_++].placement,
                                        .shard = test_.shard,
                                        .prefetch = test_.prefetch,
                                        .images = test_.images});
    current_ = loader_->next();
    if (current_.slice.count > 0) return true;
  }
  current_ = loader_->next();
  return current_.slice.count > 0 || next();
}

void TestRun::add(std::span<const float> logits) {
  const size_t classes = logits.size() / static_cast<size_t>(batch_);
  const auto rows = static_cast<size_t>(current_.slice.count);
  if (!score_) score_ = std::make_unique<Score>(test_.confusion ? classes : 0);
  classes_ = classes;
  if (keep_ == Keep::score && test_.views.size() == 1) {
    for (size_t n = 0; n < rows; ++n) {
      score_->add(logits.subspan(n * classes, classes),
                  test_.data.label(current_.slice.first + static_cast<int64_t>(n)));
    }
    return;
  }
  if (sums_.empty()) sums_.resize(static_cast<size_t>(test_.data.size()) * classes);
  float* to = sums_.data() + static_cast<size_t>(current_.slice.first) * classes;
  const float weight = test_.views[view_ - 1].weight;
  for (size_t i = 0; i < rows * classes; ++i) to[i] += weight * logits[i];
}

Evaluation TestRun::result() {
  if (!score_) return {};
  if (!sums_.empty()) {
    for_own_rows(test_, sums_, classes_, batch_, [&](int64_t n, std::span<const float> row) {
      score_->add(row, test_.data.label(n));
    });
  }
  Evaluation result = score_->result();
  result.seconds = seconds_since(begun_);
  return result;
}

namespace {

/// Over the whole shard; false when it was stopped.
bool run_over(NetworkProgram& network, TestRun& run, const std::function<bool()>& should_stop) {
  bool complete = true;
  while (complete && run.next()) {
    if (should_stop && should_stop()) {
      complete = false;
      break;
    }
    network.use(run.batch());
    network.program().run({});
    run.add(network.logits());
  }
  network.use_own_images();  // the loader's are gone
  return complete;
}

}  // namespace

std::vector<float> logits_of(NetworkProgram& network, const TestData& test,
                             const std::function<bool()>& should_stop) {
  TestRun run(test, network.batch(), TestRun::Keep::logits);
  return run_over(network, run, should_stop) ? run.take_logits() : std::vector<float>();
}

Evaluation evaluate(NetworkProgram& network, const TestData& test,
                    const std::function<bool()>& should_stop) {
  TestRun run(test, network.batch());
  const bool complete = run_over(network, run, should_stop);
  // Averages of some of the views would mean nothing.
  return complete || test.views.size() == 1 ? run.result() : Evaluation{};
}

}  // namespace syrtos::train
