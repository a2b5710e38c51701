#include "syrtos/train/trainer.h"

#include <cmath>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/base/log.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/patches.h"
#include "syrtos/job/file.h"
#include "syrtos/train/fingerprint.h"
#include "syrtos/train/progress_writer.h"
#include "syrtos/world/local/local.h"

namespace syrtos::train {

using nlohmann::json;

namespace {

CompiledNetwork make_network(const Job& job, int worker, const TrainerOptions& options,
                             const graph::Parameters* shared) {
  // With fewer samples than workers a share can be empty; the program still has a size.
  const int64_t share = std::max<int64_t>(1, job.share(worker));
  return {
      job.network, job.model_options(share), CompiledNetwork::Use::both, job.short_share(worker),
      shared,      options.backend};
}

std::shared_ptr<optim::Optimizer> make_optimizer(const Job& job, const CompiledNetwork& network) {
  return std::make_shared<optim::Optimizer>(job.optimizer, network.parameters().weights().size());
}

data::LoaderOptions loader_options(const Job& job, int worker) {
  return {.batch = job.step_samples(),
          .seed = job.seed,
          .shard = {worker, job.workers},
          .remainder = job.remainder,
          .prefetch = job.prefetch};
}

json to_json(const Position& position) {
  return {{"step", position.step},         {"updates", position.updates},
          {"epoch", position.epoch},       {"used", position.used},
          {"loss_sum", position.loss_sum}, {"correct", position.correct},
          {"samples", position.samples},   {"unmeasured", position.unmeasured},
          {"best", position.best},         {"waited", position.waited}};
}

Position position_of(const json& text) {
  const json& best = text.at("best");  // null when there is none yet
  return {.step = text.at("step"),
          .updates = text.at("updates"),
          .epoch = text.at("epoch"),
          .used = text.at("used"),
          .loss_sum = text.at("loss_sum"),
          .correct = text.at("correct"),
          .samples = text.at("samples"),
          .unmeasured = text.at("unmeasured"),
          .best = best.is_null() ? NAN : best.get<double>(),
          .waited = text.at("waited")};
}

}  // namespace

Trainer::Trainer(Job job, int worker, TrainerOptions options, const Trainer* sharing)
    : Trainer(std::move(job), worker, std::move(options), sharing, ThreadScope(job.threads)) {}

Trainer::Trainer(Job&& job, int worker, TrainerOptions&& options, const Trainer* sharing,
                 const ThreadScope&)
    : job_(std::move(job)),
      worker_(worker),
      options_(std::move(options)),
      network_(make_network(job_, worker, options_,
                            sharing ? &sharing->network_.parameters() : nullptr)),
      optimizer_(sharing ? sharing->optimizer_ : make_optimizer(job_, network_)),
      training_transform_(job_.data.train->info(), job_.image, job_.normalization, job_.augment,
                          job_.precision.dtype),
      test_transform_(job_.data.test->info(), job_.image, job_.normalization, {},
                      job_.precision.dtype),
      loader_(*job_.data.train, training_transform_, loader_options(job_, worker)),
      watch_(job::watch_of(job_.early_stop)),
      steps_per_epoch_(job_.steps_per_epoch()) {
  if (nn::needs_patches(network_.model()) && job_.augment.resized_crop > 0) {
    fail_request(
        "--augment: {} starts from patches of the training images as they are, which "
        "resized-crop changes: use crop instead",
        job_.network.name());
  }
  if (job_.lookahead > 0) {
    lookahead_.emplace(optim::Lookahead::Options{.every = job_.lookahead},
                       network_.parameters().weights().size());
  }
  require_memory(memory_bytes(),
                 fmt::format("{} with a batch of {}", job_.network.name(), job_.batch));
  lay_out_steps();
}

int64_t Trainer::memory_bytes() const {
  int64_t bytes = network_.bytes() + loader_.bytes();
  for (const KeptArena& arena : kept()) bytes += static_cast<int64_t>(arena.values.size_bytes());
  return bytes;
}

std::vector<KeptArena> Trainer::kept() const {
  std::vector<KeptArena> arenas;
  for (const auto& slot : optimizer_->slots()) arenas.push_back({slot.name, slot.span()});
  if (lookahead_) arenas.push_back({"slow", lookahead_->slow()});
  return arenas;
}

/// From where the run is to its end. A run that goes on with another number of workers has other
/// steps from there on.
void Trainer::lay_out_steps() {
  const int64_t epochs_after = job_.epochs - position_.epoch - 1;
  const int64_t left = data::steps_left(job_.data.train->size(), position_.used,
                                        job_.step_samples(), job_.remainder);
  total_steps_ = position_.step + (epochs_after < 0 ? 0 : left + epochs_after * steps_per_epoch_);
  if (job_.steps > 0) total_steps_ = std::min(total_steps_, job_.steps);
  schedule_ = job_.schedule_of(total_steps_);
}

/// Stopped when worker 0 had taken its last step and others had not.
bool Trainer::epoch_is_over() const {
  const bool all_used = position_.used > 0 && steps_in_epoch() == steps_per_epoch_;
  return all_used || (position_.unmeasured && position_.step >= total_steps_);
}

int64_t Trainer::steps_in_epoch() const {
  return steps_per_epoch_ - data::steps_left(job_.data.train->size(), position_.used,
                                             job_.step_samples(), job_.remainder);
}

/// As resolve() does for epochs that begin anew.
void Trainer::require_samples_for_all() const {
  if (!job_.synchronises_batch_norm() || job_.remainder != data::Remainder::short_batch) {
    return;
  }
  const int64_t left = (job_.data.train->size() - position_.used) % job_.step_samples();
  if (left == 0 || left >= job_.workers) return;
  fail_request(
      "--batch-norm synchronised: from where this run goes on, the last step of the epoch has {} "
      "samples for {} workers: use another number of --workers",
      left, job_.workers);
}

void Trainer::initialize() {
  const std::optional<Shape> patch = nn::needs_patches(network_.model());
  if (patch && !job_.random_data) {
    const nn::PatchCovariance patches{
        (*patch)[0], (*patch)[1], (*patch)[2],
        data::patch_covariance(*job_.data.train, job_.normalization, (*patch)[1], (*patch)[2])};
    network_.initialize(job_.seed, &patches);
  } else {
    network_.initialize(job_.seed);
  }
  if (lookahead_) lookahead_->start(network_.parameters().weights());
}

void Trainer::begin() {
  directory_ =
      run::Directory::create(job_.run, job_.network.info().name, to_toml(to_request(job_)));
  initialize();
}

void Trainer::resume(const std::filesystem::path& run) {
  directory_ = run::Directory::open_to_resume(run);
  if (!directory_->has(run::File::last_checkpoint)) {
    initialize();
    run::rewind_metrics(*directory_, 0);
    directory_->forget_measures();
    return;
  }
  CheckpointReader checkpoint(directory_->last());
  position_ = load_snapshot(checkpoint, network_.parameters(), kept());
  if (position_.used > job_.data.train->size()) {
    fail_request("{}: {} samples of epoch {} are used, the data has {}: was it changed?",
                 checkpoint.file().string(), position_.used, position_.epoch + 1,
                 job_.data.train->size());
  }
  lay_out_steps();
  require_samples_for_all();
  if (run::rewind_metrics(*directory_, position_.step)) directory_->keep_as_best();
  earlier_ = read_earlier(*directory_, position_.step);
  if (position_.step >= total_steps_ && !epoch_is_over()) {
    fail_request("{} is complete ({} steps); to train longer give more --epochs or --steps",
                 run.string(), position_.step);
  }
  watch_.restore(position_.best, position_.waited);
  if (watch_.should_stop()) {
    fail_request("{} has stopped early, after {} epochs; to train on start a new run", run.string(),
                 position_.epoch);
  }
}

void Trainer::save() const {
  save_snapshot(directory_->last(), job_, network_.parameters(), kept(), position_);
}

Outcome Trainer::run_alone(TrainObserver& observer, const std::function<bool()>& should_stop) {
  const ThreadScope threads(job_.threads);
  world::LocalCluster cluster(1);
  Outcome outcome;
  world::run_all(cluster, [&](World& world) -> Task<> {
    return keep_result(run(world, observer, should_stop), outcome);
  });
  return outcome;
}

Task<> keep_result(Task<Outcome> task, Outcome& outcome) { outcome = co_await task; }

namespace {

run::State state_of(Outcome::End end) {
  switch (end) {
    case Outcome::End::complete:
      return run::State::complete;
    case Outcome::End::stopped_early:
      return run::State::stopped_early;
    case Outcome::End::interrupted:
      return run::State::interrupted;
  }
  return run::State::unknown;
}

/// What the team still waits for belongs to the world, which ends before the trainer does.
struct Disband {
  std::optional<RunTrace>& trace;
  std::optional<News>& news;
  std::optional<Measures>& measures;
  std::optional<Accounting>& accounting;
  std::optional<TeamWork>& team;
  ~Disband() {
    news.reset();
    measures.reset();
    accounting.reset();
    team.reset();
    trace.reset();
  }
};

}  // namespace

Task<Outcome> Trainer::run(World& world, TrainObserver& observer,
                           std::function<bool()> should_stop) {
  ProgressWriter progress(observer);
  try {
    const Outcome outcome = co_await train(world, progress, std::move(should_stop));
    progress.end(state_of(outcome.end));
    co_return outcome;
  } catch (const std::exception& error) {
    progress.end(run::State::failed, error.what());
    throw;
  }
}

Task<Outcome> Trainer::train(World& world, TrainObserver& observer,
                             std::function<bool()> should_stop) {
  const auto begun = Clock::now();
  // Each thread that starts parallel regions has a number of its own. That of the messages, where
  // it is another one than computes, takes no cores from the pool.
  const ThreadScope messages(1);
  if (job_.trace.any()) trace_.emplace(world, job_.trace);
  team_.emplace(world, job_);
  const Disband disband{trace_, news_, measures_, accounting_, team_};
  co_await start(observer);
  Outcome outcome;
  bool go_on = true;
  if (position_.unmeasured) co_await end_epoch(world, observer, outcome, go_on);
  while (go_on && position_.step < total_steps_) {
    const bool wanted = should_stop();
    const bool together = team_->in_step() && !team_->alone();
    if (team_->stop_agreed() || (wanted && !together)) {
      // Free workers agree in a meeting, where the position was saved.
      const bool saved = team_->stop_agreed() && !team_->in_step();
      if (!saved) co_await checkpoint(world, true);
      accounting_->end_pause();
      outcome.end = Outcome::End::interrupted;
      break;
    }
    const double before = world.now();
    co_await train_step(world, wanted);
    trained_s_ += world.now() - before;
    observer.step(step_info());
    log_trace("worker {}: step {} of {} is done", worker_, position_.step, total_steps_);
    look_for_lost();
    if (!epoch_complete_ && position_.step < total_steps_) {
      if (job_.checkpoint_every > 0 && position_.step % job_.checkpoint_every == 0) {
        accounting_->end_step(position_.step);
        co_await checkpoint(world, false);
        accounting_->end_pause();
      }
      accounting_->end_step(position_.step);
      news_->step();
      continue;
    }
    co_await end_epoch(world, observer, outcome, go_on);
    news_->step();
  }
  co_await news_->end();
  co_await gather_measures(world);
  if (is_first()) news_->forget();
  if (trace_) co_await gather_trace(world);
  co_await team_->strategy().end();
  if (is_first()) measures_->write_exchange(*directory_);
  outcome.staleness = team_->strategy().staleness();
  outcome.dropped = team_->strategy().dropped();
  outcome.position = position_;
  outcome.seconds = seconds_since(begun);
  co_return outcome;
}

Task<> Trainer::end_epoch(World& world, TrainObserver& observer, Outcome& outcome, bool& go_on) {
  go_on = false;
  bool gather = false;
  std::optional<EpochMetrics> metrics = co_await finish_epoch(world, gather);
  accounting_->end_pause();
  if (!metrics) {
    outcome.end = Outcome::End::interrupted;
    co_return;
  }
  outcome.epochs.push_back(std::move(*metrics));
  if (is_first()) observer.epoch(outcome.epochs.back());
  if (watch_.should_stop() && position_.step < total_steps_) {
    outcome.end = Outcome::End::stopped_early;
    co_return;
  }
  if (gather && position_.step < total_steps_) co_await gather_measures(world);
  go_on = true;
}

Task<> Trainer::start(TrainObserver& observer) {
  // The world may compute on a thread of its own.
  co_await team_->world().compute(0, [this] { set_thread_count(job_.threads); });
  json mine;
  if (!team_->alone()) mine = fingerprint(job_, network_);
  const json state = co_await team_->open(mine, to_json(position_));
  position_ = position_of(state);
  // Where each worker has sums of its own, worker 0 has those of before.
  if (!team_->in_step() && !is_first()) set_sums({});
  watch_.restore(position_.best, position_.waited);
  lay_out_steps();
  position_.unmeasured = epoch_is_over();
  co_await team_->begin(network_, *optimizer_, kept());
  loader_.seek(position_.epoch, position_.used);
  epoch_complete_ = position_.used > 0 && steps_in_epoch() == steps_per_epoch_;
  learning_rate_ = optim::learning_rate(schedule_, std::max<int64_t>(0, position_.step - 1));
  accounting_.emplace(team_->meter(), team_->world(), position_.step);
  measures_.emplace(*team_, network_, job_, options_, std::move(earlier_), position_.step);
  SYRTOS_CHECK(!is_first() || directory_.has_value(), "begin() or resume() comes first");
  news_.emplace(*team_, *measures_, *accounting_, is_first() ? &*directory_ : nullptr);
  if (trace_) trace_->connect(team_->meter(), team_->replica().profile());
  if (!is_first()) co_return;
  board_.emplace(directory_->path(), network_.model().graph, position_.step);
  observer.started({.job = job_,
                    .directory = *directory_,
                    .parameters = network_.parameters().count(),
                    .memory_bytes = memory_bytes(),
                    .steps_per_epoch = steps_per_epoch_,
                    .total_steps = total_steps_,
                    .first_step = position_.step,
                    .buckets = static_cast<int>(team_->replica().layout().buckets.size())});
}

}  // namespace syrtos::train
