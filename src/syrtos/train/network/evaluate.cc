#include "syrtos/train/network/evaluate.h"

#include <algorithm>
#include <numeric>

#include "syrtos/train/network/score_sums.h"

namespace syrtos::train {

double average_precision(std::span<const float> scores, std::span<const float> targets) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  double positives = 0;
  double sum = 0;
  for (size_t i = 0; i < order.size();) {
    // Samples of equal scores are taken together.
    size_t end = i;
    double more = 0;
    while (end < order.size() && scores[order[end]] == scores[order[i]]) {
      more += targets[order[end++]] > 0.5F ? 1 : 0;
    }
    positives += more;
    sum += more * positives / static_cast<double>(end);
    i = end;
  }
  return positives > 0 ? sum / positives : 0;
}

namespace {

/// What needs the outputs of all samples at once.
void add_report(const nn::Task& task, const data::Dataset& data, const std::vector<float>& rows,
                run::TestScores& details) {
  constexpr size_t kPoints = 1000;
  const auto samples = static_cast<size_t>(data.size());
  const size_t width = rows.size() / samples;
  for (size_t k = 0; k < width; ++k) {
    std::vector<float> outputs(samples);
    std::vector<float> targets(samples);
    for (size_t n = 0; n < samples; ++n) {
      outputs[n] = rows[n * width + k];
      targets[n] = data.target(static_cast<int64_t>(n)).values[k];
    }
    if (task.has_labels()) {
      details.labels[k].average_precision = average_precision(outputs, targets);
      continue;
    }
    const size_t points = std::min(kPoints, samples);
    for (size_t i = 0; i < points; ++i) {
      const size_t n = i * samples / points;
      const double scale = task.mean.empty() ? 1 : task.deviation[k];
      const double shift = task.mean.empty() ? 0 : task.mean[k];
      details.values[k].points.emplace_back(targets[n],
                                            static_cast<float>(outputs[n] * scale + shift));
    }
  }
}

std::vector<std::string> names_of(const data::DatasetInfo& info) {
  std::vector<std::string> names = info.classes;
  for (int64_t k = 0; k < info.targets.values; ++k) names.push_back(info.targets.name(k));
  return names;
}

}  // namespace

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

TestRun::TestRun(const TestData& test, const nn::Task& task, int64_t batch, Keep keep)
    : test_(test), task_(task), batch_(batch), keep_(keep) {}
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

bool TestRun::keeps_rows() const {
  return keep_ == Keep::logits || test_.views.size() > 1 || (test_.report && !task_.has_classes());
}

void TestRun::add(std::span<const float> logits) {
  outputs_ = logits.size() / static_cast<size_t>(batch_);
  const auto rows = static_cast<size_t>(current_.slice.count);
  if (!scores_) {
    scores_ = std::make_unique<ScoreSums>(task_, static_cast<int64_t>(outputs_), test_.report);
  }
  if (!keeps_rows()) {
    for (size_t n = 0; n < rows; ++n) {
      scores_->add(logits.subspan(n * outputs_, outputs_),
                   test_.data.target(current_.slice.first + static_cast<int64_t>(n)));
    }
    return;
  }
  if (rows_.empty()) rows_.resize(static_cast<size_t>(test_.data.size()) * outputs_);
  float* to = rows_.data() + static_cast<size_t>(current_.slice.first) * outputs_;
  const float weight = test_.views[view_ - 1].weight;
  for (size_t i = 0; i < rows * outputs_; ++i) to[i] += weight * logits[i];
}

Evaluation TestRun::result() {
  if (!scores_) return {};
  if (!rows_.empty()) {
    for_own_rows(test_, rows_, outputs_, batch_, [&](int64_t n, std::span<const float> row) {
      scores_->add(row, test_.data.target(n));
    });
  }
  Evaluation result{.loss = scores_->loss(),
                    .scores = scores_->scores(),
                    .samples = scores_->samples(),
                    .sums = scores_->sums(),
                    .details = scores_->details(names_of(test_.data.info()))};
  if (test_.report && !task_.has_classes() && !rows_.empty()) {
    add_report(task_, test_.data, rows_, result.details);
  }
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
  TestRun run(test, network.task(), network.batch(), TestRun::Keep::logits);
  return run_over(network, run, should_stop) ? run.take_logits() : std::vector<float>();
}

Evaluation evaluate(NetworkProgram& network, const TestData& test,
                    const std::function<bool()>& should_stop) {
  TestRun run(test, network.task(), network.batch());
  const bool complete = run_over(network, run, should_stop);
  // Averages of some of the views would mean nothing.
  return complete || !run.keeps_rows() ? run.result() : Evaluation{};
}

}  // namespace syrtos::train
