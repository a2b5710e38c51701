// What workers do together when an epoch ends, and when they stop within one.

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/train/evaluate.h"
#include "syrtos/train/trainer.h"

namespace syrtos::train {

using nlohmann::json;

/// A position that any number of workers can go on from.
Task<> Trainer::checkpoint(World& world, bool wants_to_stop) {
  co_await settle();
  add(team_->take_sums());
  if (job_.strategy.same_everywhere()) {
    if (is_first()) co_await save_here(world);
  } else {
    co_await team_->meet(wants_to_stop);
    co_await save_together(world);
  }
}

/// Awaits what the last step left on its way.
Task<> Trainer::settle() {
  co_await team_->strategy().settle();
  co_await team_->complete_sums();
}

Task<> Trainer::save_here(World& world) {
  const Meter::Doing saves(team_->meter(), Part::checkpoint);
  co_await world.compute(0, [this] { save(); });
}

Task<> Trainer::save_together(World& world) {
  {
    const Meter::Doing waits(team_->meter(), Part::network);
    co_await team_->strategy().agree();
    note_updates();
    co_await team_->strategy().collect();
  }
  if (!team_->in_step()) set_sums(co_await team_->hand_over(sums()));
  if (is_first()) co_await save_here(world);
  co_await team_->meet();
}

void Trainer::note_updates() {
  position_.updates = std::max(position_.updates, team_->strategy().updates());
}

Task<std::optional<EpochMetrics>> Trainer::finish_epoch(World& world, bool& gather) {
  co_await settle();
  accounting_->end_step(position_.step);
  add(team_->take_sums());
  if (!team_->alone()) {
    co_await team_->meet();
    if (team_->stop_agreed() && !team_->in_step()) {
      // Another one is in mid-epoch and does not come to the evaluation.
      position_.unmeasured = true;
      co_await save_together(world);
      co_return std::nullopt;
    }
    co_await team_->average_states();
    co_await team_->align_clocks();
  }
  {
    const Meter::Doing waits(team_->meter(), Part::network);
    co_await team_->strategy().agree();
    note_updates();
  }

  EpochReport mine;
  const bool evaluated =
      position_.step >= total_steps_ || (position_.epoch + 1) % job_.evaluate_every == 0;
  {
    const Meter::Doing evaluates(team_->meter(), Part::evaluate);
    co_await world.compute(0, [&] { mine = measure_own_part(evaluated); });
  }
  mine.host = world.host(world.rank());
  mine.seconds = accounting_->take_epoch();
  mine.seconds[Part::evaluate] = mine.evaluation.seconds;
  {
    const Meter::Doing waits(team_->meter(), Part::network);
    co_await team_->strategy().collect();
  }
  EpochMetrics metrics;
  const json shared = co_await team_->report(mine, [&](const std::vector<EpochReport>& reports) {
    metrics = merge(reports, evaluated);
    return json({{"test_loss", metrics.test_loss},
                 {"test_accuracy", metrics.test_accuracy},
                 {"loss_sum", position_.loss_sum},
                 {"correct", position_.correct},
                 {"samples", position_.samples},
                 {"gather", measures_->due()}});
  });
  gather = shared.at("gather");
  if (evaluated) {
    const char* key = job_.early_stop.metric == job::Metric::loss ? "test_loss" : "test_accuracy";
    metrics.best = watch_.update(shared.at(key));
  }
  // A run that ends within an epoch stays there, so that more steps can follow.
  if (epoch_complete_) {
    position_ = {
        .step = position_.step, .updates = position_.updates, .epoch = position_.epoch + 1};
  } else {
    set_sums({shared.at("loss_sum"), shared.at("correct"), shared.at("samples")});
    position_.unmeasured = false;
  }
  position_.best = watch_.best();
  position_.waited = watch_.waited();
  if (is_first()) {
    const Meter::Doing saves(team_->meter(), Part::checkpoint);
    co_await world.compute(0, [&] { keep(metrics); });
  }
  // Nobody changes them while they are written.
  if (team_->shares_weights()) co_await team_->meet();
  trained_s_ = 0;
  epoch_samples_ = 0;
  co_return metrics;
}

void Trainer::look_for_lost() {
  if (!is_first() || !job_.strategy.tolerates_losses()) return;
  measures_->look_for_lost(*directory_, position_.step);
}

/// All bring what they measured so far, and worker 0 writes it down.
Task<> Trainer::gather_measures(World& world) {
  accounting_->close();
  const double before = world.now();
  std::string mine = measures_->own_text(accounting_->log(), trace_ ? trace_->events() : 0);
  std::vector<std::string> texts = co_await team_->gather(std::move(mine));
  if (!is_first()) co_return;
  news_->add_received();  // it is older
  look_for_lost();
  const auto servers = co_await team_->hear_servers(strategy::Command::tell_measures);
  texts.insert(texts.end(), servers.begin(), servers.end());
  const Meter::Doing writes(team_->meter(), Part::other);
  co_await world.compute(0, [&] { measures_->write(*directory_, texts, position_.step); });
  measures_->spent(world.now() - before);
}

Task<> Trainer::gather_trace(World& world) {
  std::string mine = trace_->own(team_->clocks().offsets(), measures_->own().curves());
  std::vector<std::string> texts = co_await team_->gather(std::move(mine));
  if (!is_first()) co_return;
  const auto servers = co_await team_->hear_servers(strategy::Command::tell_trace);
  texts.insert(texts.end(), servers.begin(), servers.end());
  co_await world.compute(0, [&] { RunTrace::write(directory_->file(run::File::trace), texts); });
}

EpochReport Trainer::measure_own_part(bool evaluated) {
  EpochReport report;
  if (evaluated) {
    const TestData test{*job_.data.test, test_transform_, job::views_of(job_.views), job_.prefetch,
                        team_->test_shard()};
    report.evaluation = evaluate(network_.evaluation(), test);
  }
  const data::LoaderStats loading = loader_.take_stats();
  report.queue = loading.queue;
  report.helped = loading.helped;
  report.training = sums();
  report.trained = epoch_samples_;
  return report;
}

/// What all workers together have seen; only worker 0 does this.
EpochMetrics Trainer::merge(const std::vector<EpochReport>& reports, bool evaluated) {
  EpochMetrics metrics;
  metrics.epoch = position_.epoch + 1;
  metrics.step = position_.step;
  metrics.learning_rate = learning_rate_;
  metrics.evaluated = evaluated;
  metrics.queue = reports[0].queue;
  metrics.helped = reports[0].helped;
  metrics.seconds = reports[0].seconds;
  double samples = 0;
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const EpochReport& report = reports[rank];
    if (report.host.empty()) continue;  // lost
    const auto n = static_cast<double>(report.evaluation.samples);
    samples += n;
    metrics.test_loss += n * report.evaluation.loss;
    metrics.test_accuracy += n * report.evaluation.accuracy;
    metrics.test_top5 += n * report.evaluation.top5;
    if (reports.size() > 1) {
      metrics.workers.push_back({static_cast<int>(rank), report.host, report.seconds});
    }
    if (rank == 0 || !team_->in_step()) metrics.samples += report.trained;
    if (rank > 0 && !team_->in_step()) add(report.training);
  }
  if (evaluated) {
    metrics.test_loss /= samples;
    metrics.test_accuracy /= samples;
    metrics.test_top5 /= samples;
    if (!std::isfinite(metrics.test_loss)) {
      fail_run("test loss is {} after step {} (epoch {}); try a smaller --lr or --clip",
               metrics.test_loss, position_.step, position_.epoch + 1);
    }
  }
  const double seconds = metrics.seconds.training();
  if (seconds > 0) metrics.images_per_s = static_cast<double>(metrics.samples) / seconds;
  const auto trained = static_cast<double>(std::max<int64_t>(1, position_.samples));
  metrics.train_loss = position_.loss_sum / trained;
  metrics.train_accuracy = static_cast<double>(position_.correct) / trained;
  return metrics;
}

/// In this order a run that is killed in between loses nothing: what is noted beyond the last
/// checkpoint is forgotten when it goes on, and resume() makes up for a best one.
void Trainer::keep(const EpochMetrics& metrics) {
  run::append(*directory_, metrics);
  save();
  if (metrics.best) directory_->keep_as_best();
  board_->epoch(metrics);
}

}  // namespace syrtos::train
