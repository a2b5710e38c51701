#include "syrtos/train/trainer.h"

#include <chrono>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/parallel.h"
#include "syrtos/data/patches.h"
#include "syrtos/train/evaluate.h"

namespace syrtos::train {

namespace {

class Watch {
 public:
  /// Seconds since the last call.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

std::vector<optim::Segment> segments_of(const graph::Parameters& parameters) {
  std::vector<optim::Segment> segments;
  for (const graph::ParameterSlot& slot : parameters.slots()) {
    segments.push_back({slot.offset, slot.elements, slot.decay, slot.rate});
  }
  return optim::merged(segments);
}

int64_t total_steps(const Job& job, int64_t steps_per_epoch) {
  const int64_t all = steps_per_epoch * job.epochs;
  return job.steps > 0 ? std::min(all, job.steps) : all;
}

Network make_network(const ResolvedJob& job) {
  set_thread_count(static_cast<int>(job.job.threads));
  return {job.job.network, job.model_options(true), Network::Use::both, job.short_batch()};
}

data::LoaderOptions loader_options(const ResolvedJob& job) {
  return {.batch = job.job.batch,
          .seed = static_cast<uint64_t>(job.job.seed),
          .remainder = job.remainder,
          .prefetch = static_cast<int>(job.job.prefetch)};
}

}  // namespace

Trainer::Trainer(ResolvedJob job)
    : job_(std::move(job)),
      network_(make_network(job_)),
      optimizer_(optimizer_options(job_.job), network_.parameters().weights().size()),
      norm_(network_.parameters().weights().size()),
      segments_(segments_of(network_.parameters())),
      training_transform_(job_.data.train->info(), job_.image, job_.normalization, job_.augment,
                          job_.precision.dtype),
      test_transform_(job_.data.test->info(), job_.image, job_.normalization, {},
                      job_.precision.dtype),
      loader_(*job_.data.train, training_transform_, loader_options(job_)),
      watch_(early_stopping(job_.job)),
      steps_per_epoch_(job_.steps_per_epoch()),
      total_steps_(total_steps(job_.job, steps_per_epoch_)),
      schedule_(schedule_of(job_.job, total_steps_)) {
  if (nn::needs_patches(network_.model()) && job_.augment.resized_crop > 0) {
    fail_request(
        "--augment: {} starts from patches of the training images as they are, which "
        "resized-crop changes: use crop instead",
        job_.job.network);
  }
  if (job_.job.lookahead > 0) {
    lookahead_.emplace(optim::Lookahead::Options{.every = job_.job.lookahead},
                       network_.parameters().weights().size());
  }
  require_memory(memory_bytes(),
                 fmt::format("{} with a batch of {}", job_.job.network, job_.job.batch));
}

int64_t Trainer::memory_bytes() const {
  int64_t bytes = network_.bytes() + loader_.bytes();
  for (const KeptArena& arena : kept()) bytes += static_cast<int64_t>(arena.values.size_bytes());
  return bytes;
}

std::vector<KeptArena> Trainer::kept() const {
  std::vector<KeptArena> arenas;
  for (const auto& slot : optimizer_.slots()) arenas.push_back({slot.name, slot.span()});
  if (lookahead_) arenas.push_back({"slow", lookahead_->slow()});
  return arenas;
}

void Trainer::initialize() {
  const auto seed = static_cast<uint64_t>(job_.job.seed);
  const std::optional<Shape> patch = nn::needs_patches(network_.model());
  if (patch && job_.job.data != "random") {
    const nn::PatchCovariance patches{
        (*patch)[0], (*patch)[1], (*patch)[2],
        data::patch_covariance(*job_.data.train, job_.normalization, (*patch)[1], (*patch)[2])};
    network_.initialize(seed, &patches);
  } else {
    network_.initialize(seed);
  }
  if (lookahead_) lookahead_->start(network_.parameters().weights());
}

void Trainer::begin() {
  directory_ = RunDirectory::create(job_.job);
  initialize();
}

void Trainer::resume(const std::filesystem::path& run) {
  directory_ = RunDirectory::open(run);
  if (!std::filesystem::exists(directory_->last())) {
    initialize();
    directory_->rewind(0);
    return;
  }
  CheckpointReader checkpoint(directory_->last());
  position_ = load_snapshot(checkpoint, network_.parameters(), kept());
  if (position_.used > job_.data.train->size() ||
      position_.step != position_.epoch * steps_per_epoch_ + steps_in_epoch()) {
    fail_request(
        "{}: step {} does not fit {} samples used of epoch {} of this job: was the data or the "
        "batch changed?",
        checkpoint.file().string(), position_.step, position_.used, position_.epoch + 1);
  }
  if (directory_->rewind(position_.step)) directory_->keep_as_best();
  if (position_.step >= total_steps_) {
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

void Trainer::check_loss(NetworkProgram& training, float loss) {
  if (std::isfinite(loss)) return;
  const ops::Step step{.seed = static_cast<uint64_t>(job_.job.seed), .step = position_.step};
  const graph::Program::Item* item = training.program().find_non_finite(step);
  const std::string where =
      item == nullptr
          ? "no single layer is to blame"
          : fmt::format("first non-finite value after layer {} ({})", item->layer, item->operation);
  fail_run("loss is {} at step {} (epoch {}): {}; try a smaller --lr (now {}) or --clip 1",
           std::isnan(loss) ? "nan" : "infinite", position_.step + 1, position_.epoch + 1, where,
           learning_rate_);
}

int64_t Trainer::steps_in_epoch() const {
  return steps_per_epoch_ - data::steps_left(job_.data.train->size(), position_.used,
                                             job_.job.batch, job_.remainder);
}

void Trainer::train_step() {
  const auto seed = static_cast<uint64_t>(job_.job.seed);
  const int64_t samples =
      data::slice_of(job_.data.train->size(), position_.used, job_.job.batch, {}, job_.remainder)
          .count;
  NetworkProgram& training = network_.training(samples);
  Watch watch;

  const data::Batch batch = loader_.next();
  SYRTOS_CHECK(batch.epoch == position_.epoch && batch.slice.count == samples, "{} {}", batch.epoch,
               batch.slice.count);
  training.use(batch);
  seconds_.load += watch.lap();

  learning_rate_ = optim::learning_rate(schedule_, position_.step);
  const graph::PhaseTimes times = training.program().run({.seed = seed, .step = position_.step});
  const float loss = training.loss();
  check_loss(training, loss);
  position_.loss_sum += static_cast<double>(loss) * static_cast<double>(samples);
  position_.correct += count_correct(training.logits(), batch.labels);
  position_.samples += samples;
  seconds_.forward += times.forward_s;
  seconds_.backward += watch.lap() - times.forward_s;

  update();
  seconds_.update += watch.lap();
  ++position_.step;
  position_.used = batch.slice.used;
  epoch_complete_ = batch.slice.last;
  epoch_samples_ += samples;
  note_step(loss);
}

void Trainer::note_step(float loss) {
  // About a hundred points an epoch: enough for a curve, few enough to write each at once.
  if (position_.step % std::max<int64_t>(1, steps_per_epoch_ / 100) == 0) {
    board_->step(position_.step, loss, learning_rate_);
  }
}

void Trainer::update() {
  const graph::Parameters& parameters = network_.parameters();
  optim::Hyper hyper{.learning_rate = learning_rate_,
                     .weight_decay = job_.job.weight_decay,
                     .step = position_.step};
  if (job_.job.clip > 0) {
    hyper.gradient_scale = optim::clip_scale(norm_(parameters.gradients()), job_.job.clip);
  }
  optimizer_.update(parameters.weights(), parameters.gradients(), parameters.working(), segments_,
                    hyper);
  const int64_t done = position_.step + 1;
  if (lookahead_ && lookahead_->due(done)) {
    lookahead_->update(parameters.weights(), parameters.working(),
                       lookahead_->decay(done, total_steps_));
  }
}

// On the test data, and whether it is the best so far.
void Trainer::measure(EpochMetrics& metrics) {
  const TestData test{*job_.data.test, test_transform_, job_.views,
                      static_cast<int>(job_.job.prefetch)};
  const Evaluation result = evaluate(network_.evaluation(), test);
  seconds_.evaluate = result.seconds;
  if (!std::isfinite(result.loss)) {
    fail_run("test loss is {} after step {} (epoch {}); try a smaller --lr or --clip", result.loss,
             position_.step, position_.epoch + 1);
  }
  metrics.test_loss = result.loss;
  metrics.test_accuracy = result.accuracy;
  metrics.test_top5 = result.top5;
  metrics.best = watch_.update(job_.job.metric == "loss" ? result.loss : result.accuracy);
}

EpochMetrics Trainer::finish_epoch() {
  EpochMetrics metrics;
  const auto samples = static_cast<double>(position_.samples);
  metrics.epoch = position_.epoch + 1;
  metrics.step = position_.step;
  metrics.samples = epoch_samples_;
  metrics.train_loss = position_.loss_sum / samples;
  metrics.train_accuracy = static_cast<double>(position_.correct) / samples;
  metrics.learning_rate = learning_rate_;
  const data::LoaderStats loading = loader_.take_stats();
  metrics.queue = loading.queue;
  metrics.helped = loading.helped;
  metrics.evaluated =
      position_.step == total_steps_ || metrics.epoch % job_.job.evaluate_every == 0;
  if (metrics.evaluated) measure(metrics);
  metrics.seconds = seconds_;

  // A run that ends within an epoch stays there, so that more steps can follow.
  if (epoch_complete_) {
    position_ = {.step = position_.step, .epoch = position_.epoch + 1};
  }
  position_.best = watch_.best();
  position_.waited = watch_.waited();
  // In this order a run that is killed in between loses nothing: what is noted beyond the last
  // checkpoint is forgotten when it goes on, and resume() makes up for a best one.
  directory_->append(metrics);
  save();
  if (metrics.best) directory_->keep_as_best();
  board_->epoch(metrics);
  seconds_ = {};
  epoch_samples_ = 0;
  return metrics;
}

StepInfo Trainer::step_info() const {
  const auto samples = static_cast<double>(position_.samples);
  return {.epoch = position_.epoch + 1,
          .epochs = job_.job.epochs,
          .step_in_epoch = steps_in_epoch(),
          .steps_per_epoch = steps_per_epoch_,
          .step = position_.step,
          .total_steps = total_steps_,
          .loss = position_.loss_sum / samples,
          .accuracy = static_cast<double>(position_.correct) / samples,
          .images_per_s = static_cast<double>(epoch_samples_) / seconds_.training()};
}

Outcome Trainer::run(TrainObserver& observer, const std::function<bool()>& should_stop) {
  SYRTOS_CHECK(directory_.has_value(), "begin() or resume() comes first");
  Watch watch;
  board_.emplace(directory_->path(), network_.model().graph, position_.step);
  observer.started({.job = job_,
                    .directory = *directory_,
                    .parameters = network_.parameters().count(),
                    .memory_bytes = memory_bytes(),
                    .steps_per_epoch = steps_per_epoch_,
                    .total_steps = total_steps_,
                    .first_step = position_.step});
  loader_.seek(position_.epoch, position_.used);
  Outcome outcome;
  while (position_.step < total_steps_) {
    if (should_stop()) {
      save();
      outcome.end = Outcome::End::interrupted;
      break;
    }
    train_step();
    observer.step(step_info());
    if (!epoch_complete_ && position_.step < total_steps_) {
      if (job_.job.checkpoint_every > 0 && position_.step % job_.job.checkpoint_every == 0) save();
      continue;
    }
    outcome.epochs.push_back(finish_epoch());
    observer.epoch(outcome.epochs.back());
    if (watch_.should_stop() && position_.step < total_steps_) {
      outcome.end = Outcome::End::stopped_early;
      break;
    }
  }
  outcome.position = position_;
  outcome.seconds = watch.lap();
  return outcome;
}

}  // namespace syrtos::train
