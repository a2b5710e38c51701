#include "syrtos/train/epoch_end.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "syrtos/base/error.h"
#include "syrtos/job/task_metrics.h"
#include "syrtos/strategy/worker_loop.h"
#include "syrtos/train/network/evaluate.h"
#include "syrtos/train/network/score_sums.h"
#include "syrtos/train/team/evaluate_parts.h"

namespace syrtos::train {

using nlohmann::json;

Task<std::optional<EpochEnd::Result>> EpochEnd::finish(const EpochPace& pace) {
  Course& course = state_.course;
  co_await strategy::settle(team_.strategy(), team_.sums());
  measuring_.end_step(course.position().step);
  course.add(team_.sums().take());
  co_await meetings_.meet();
  if (team_.sums().stop_agreed() && !team_.in_step()) {
    // Another one is in mid-epoch and does not come to the evaluation.
    course.note_unmeasured();
    co_await checkpoints_.save_together(true);
    co_return std::nullopt;
  }
  co_await meetings_.average(team_.replica().states());
  co_await team_.align_clocks();
  co_await checkpoints_.agree();
  const EpochReport mine = co_await own_report(pace);
  Result result;
  EpochMetrics& metrics = result.metrics;
  const json shared = co_await meetings_.report(mine, [&](const std::vector<EpochReport>& reports) {
    metrics = merge(reports);
    const Sums sums = course.sums();
    return json({{"metrics", run::to_json(metrics)},
                 {"watched", metrics.test_value(state_.job.early_stop.metric->name)},
                 {"loss_sum", sums.loss},
                 {"score_sum", sums.score},
                 {"samples", sums.samples},
                 {"gather", measuring_.is_due()}});
  });
  // Whoever is the first one later has the whole history.
  if (!state_.is_first()) metrics = run::epoch_from_json(shared.at("metrics")).value();
  result.gather = shared.at("gather");
  if (evaluates()) metrics.best = state_.watch.update(shared.at("watched"));
  state_.history.push_back(metrics);
  course.end_epoch({shared.at("loss_sum"), shared.at("score_sum"), shared.at("samples")},
                   state_.watch);
  if (state_.is_first()) {
    const Meter::Doing saves(team_.meter(), Part::checkpoint);
    board_->epoch(metrics);  // before the checkpoint: what it says twice TensorBoard forgets
    const bool ends = course.is_over() || state_.watch.should_stop();
    co_await team_.world().compute(0, [&] { keeper_->keep_epoch(metrics, details_, ends); });
  }
  // Nobody changes them while they are written.
  if (team_.shares_weights()) co_await meetings_.meet();
  co_return result;
}

bool EpochEnd::evaluates() const {
  const Course& course = state_.course;
  const int64_t every = state_.job.evaluate_every;
  return every > 0 && (course.is_over() || (course.position().epoch + 1) % every == 0);
}

Task<EpochReport> EpochEnd::own_report(const EpochPace& pace) {
  World& world = team_.world();
  EpochReport mine;
  {
    const Meter::Doing evaluating(team_.meter(), Part::evaluate);
    Evaluation evaluation;
    if (evaluates()) evaluation = co_await evaluate_own_part();
    co_await world.compute(0, [&] { mine = report_of(pace); });
    mine.sums = std::move(evaluation.sums);
    mine.evaluate_seconds = evaluation.seconds;
  }
  mine.host = world.host(world.rank());
  mine.seconds = measuring_.take_epoch();
  mine.seconds[Part::evaluate] = mine.evaluate_seconds;
  const Meter::Doing waits(team_.meter(), Part::network);
  co_await team_.strategy().collect();
  co_await checkpoints_.collect_parts();
  co_return mine;
}

Task<Evaluation> EpochEnd::evaluate_own_part() {
  CompiledNetwork& network = state_.learner.network();
  const TestData test{
      *state_.job.data.test, state_.test_transform,  job::views_of(state_.job.views),
      state_.job.prefetch,   meetings_.test_shard(), false,
      network.has_images()};
  if (network.division().in_pieces()) {
    co_return co_await evaluate_parts(team_.world(), team_.team(), team_.meter(), network, test);
  }
  Evaluation evaluation;
  co_await team_.world().compute(0, [&] { evaluation = evaluate(network.evaluation(), test); });
  co_return evaluation;
}

EpochReport EpochEnd::report_of(const EpochPace& pace) {
  EpochReport report;
  const data::LoaderStats loading = state_.loader.take_stats();
  report.queue = loading.queue;
  report.helped = loading.helped;
  report.training = state_.course.sums();
  report.trained = pace.samples;
  return report;
}

/// What all workers together have seen; only worker 0 does this.
EpochMetrics EpochEnd::merge(const std::vector<EpochReport>& reports) {
  Course& course = state_.course;
  EpochMetrics metrics;
  metrics.epoch = course.position().epoch + 1;
  metrics.step = course.position().step;
  metrics.learning_rate = course.learning_rate();
  metrics.evaluated = evaluates();
  metrics.queue = reports[0].queue;
  metrics.helped = reports[0].helped;
  metrics.seconds = reports[0].seconds;
  ScoreSums sums(state_.job.task, state_.job.classes);
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const EpochReport& report = reports[rank];
    if (report.host.empty()) continue;  // lost
    // Of a network in parts only those who have the last one know what came out.
    if (metrics.evaluated && !report.sums.empty()) sums.merge(report.sums);
    if (reports.size() > 1) {
      metrics.workers.push_back({static_cast<int>(rank), report.host, report.seconds});
    }
    if (rank == 0 || !team_.in_step()) metrics.samples += report.trained;
    if (rank > 0 && !team_.in_step()) course.add(report.training);
  }
  if (metrics.evaluated) {
    metrics.test_loss = sums.loss();
    metrics.test = sums.scores();
    details_ = sums.details(state_.job.output_names());
    details_.epoch = metrics.epoch;
    details_.set = metrics.set = state_.job.measured_word();
  }
  const double seconds = metrics.seconds.training();
  if (seconds > 0) metrics.images_per_s = static_cast<double>(metrics.samples) / seconds;
  const Sums training = course.sums();
  const auto trained = static_cast<double>(std::max<int64_t>(1, training.samples));
  metrics.train_loss = training.loss / trained;
  metrics.train = {{&job::training_metric(state_.job.task), training.score / trained}};
  check(metrics);
  return metrics;
}

void EpochEnd::check(const EpochMetrics& metrics) const {
  constexpr double kDiverged = 1e6;  // guessing costs the logarithm of the number of classes
  const auto is_lost = [](double loss) { return !std::isfinite(loss) || loss > kDiverged; };
  const bool in_test = metrics.evaluated && is_lost(metrics.test_loss);
  if (!in_test && !is_lost(metrics.train_loss)) return;
  fail_run(
      "{} loss is {:.3g} after step {} (epoch {}): training diverged; try a smaller --lr (now {}) "
      "or --clip 1",
      in_test ? "test" : "training", in_test ? metrics.test_loss : metrics.train_loss, metrics.step,
      metrics.epoch, metrics.learning_rate);
}

}  // namespace syrtos::train
