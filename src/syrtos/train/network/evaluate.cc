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

namespace {

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

/// Calls use(first sample, logits of the batch) for the whole shard; false when it was stopped.
bool run_over(NetworkProgram& network, const TestData& test, const job::View& view,
              const std::function<bool()>& should_stop,
              const std::function<void(int64_t, std::span<const float>)>& use) {
  data::Loader loader(test.data, test.transform,
                      {.batch = network.batch() * test.shard.workers,
                       .training = false,
                       .view = view.placement,
                       .shard = test.shard,
                       .prefetch = test.prefetch});
  for (bool last = false; !last;) {
    if (should_stop && should_stop()) return false;
    const data::Batch batch = loader.next();
    last = batch.slice.last;
    if (batch.slice.count == 0) continue;
    network.use(batch);
    network.program().run({});
    const auto values = static_cast<size_t>(batch.slice.count * network.classes());
    use(batch.slice.first, network.logits().first(values));
  }
  network.use_own_images();  // the loader's are gone
  return true;
}

/// Only the rows of the shard have been filled.
void add_own_rows(const TestData& test, std::span<const float> sums, size_t classes, int64_t batch,
                  const std::function<void(int64_t, std::span<const float>)>& add) {
  data::Slice slice;
  while (!slice.last) {
    slice = data::slice_of(test.data.size(), slice.used, batch * test.shard.workers, test.shard,
                           data::Remainder::short_batch);
    add(slice.first, sums.subspan(static_cast<size_t>(slice.first) * classes,
                                  static_cast<size_t>(slice.count) * classes));
  }
}

}  // namespace

std::vector<float> logits_of(NetworkProgram& network, const TestData& test,
                             const std::function<bool()>& should_stop) {
  const auto classes = static_cast<size_t>(network.classes());
  std::vector<float> sums(static_cast<size_t>(test.data.size()) * classes);
  const bool complete =
      std::all_of(test.views.begin(), test.views.end(), [&](const job::View& view) {
        const auto add = [&](int64_t first, std::span<const float> logits) {
          float* to = sums.data() + static_cast<size_t>(first) * classes;
          for (size_t i = 0; i < logits.size(); ++i) to[i] += view.weight * logits[i];
        };
        return run_over(network, test, view, should_stop, add);
      });
  if (!complete) sums.clear();
  return sums;
}

Evaluation evaluate(NetworkProgram& network, const TestData& test,
                    const std::function<bool()>& should_stop) {
  const auto start = Clock::now();
  const auto classes = static_cast<size_t>(network.classes());
  Score score(test.confusion ? classes : 0);
  const auto add_rows = [&](int64_t first, std::span<const float> logits) {
    for (size_t n = 0; n < logits.size() / classes; ++n) {
      score.add(logits.subspan(n * classes, classes),
                test.data.label(first + static_cast<int64_t>(n)));
    }
  };
  if (test.views.size() == 1) {
    run_over(network, test, test.views[0], should_stop, add_rows);
  } else {
    const std::vector<float> sums = logits_of(network, test, should_stop);
    if (!sums.empty()) add_own_rows(test, sums, classes, network.batch(), add_rows);
  }
  Evaluation result = score.result();
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace syrtos::train
