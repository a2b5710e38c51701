#include "syrtos/job/job.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/job/image_size.h"
#include "syrtos/strategy/links.h"

namespace syrtos::job {

const char* to_string(BatchNorm batch_norm) {
  return batch_norm == BatchNorm::local ? "local" : "synchronised";
}

BatchNorm parse_batch_norm(std::string_view name) {
  if (name == "local") return BatchNorm::local;
  if (name == "synchronised") return BatchNorm::synchronised;
  fail_request("--batch-norm: expected local or synchronised, found '{}'{}", name,
               suggestion(name, {"local", "synchronised"}));
}

optim::EarlyStopping watch_of(const EarlyStop& early_stop) {
  using Mode = optim::EarlyStopping::Mode;
  return {early_stop.metric->higher_is_better ? Mode::highest : Mode::lowest, early_stop.patience,
          early_stop.min_delta};
}

nn::ModelOptions Job::model_options(int64_t samples) const {
  return {.batch = samples,
          .classes = classes,
          .channels = image[0],
          .height = image[1],
          .width = image[2],
          .dtype = precision.dtype,
          .task = task,
          .synchronised_batch_norm = replicas() > 1 && synchronises_batch_norm()};
}

std::string_view Job::exchanges_within_pass() const {
  if (replicas() == 1) return "";
  if (synchronises_batch_norm()) return "--batch-norm synchronised";
  return strategy.splits_columns() ? "--split columns" : "";
}

std::string Job::needs_all_workers() const {
  const bool splits = strategy.sync.splits_batch();
  const bool alike = !exchanges_within_pass().empty() && remainder == data::Remainder::short_batch;
  // Of a step that is shorter: it begins after whole batches, however many.
  const int64_t last = data.train->size() % batch;
  for (int left = std::max(1, min_workers); left <= workers; ++left) {
    const int64_t count = strategy.replicas(left);
    if (splits && accumulate > 1 && batch % (accumulate * count) != 0) {
      return fmt::format(
          "{} micro-batches do not divide what {} worker{} would have of a batch of {}", accumulate,
          left, left == 1 ? "" : "s", batch);
    }
    if (!alike || count == 1) continue;
    const int64_t fewest = last > 0 ? last : splits ? 0 : batch;
    const bool in_parts = accumulate > 1 && fewest > 0;
    if (in_parts || (fewest > 0 && fewest < count)) {
      return fmt::format(
          "with {} and --remainder short {} workers could not divide the last step of an epoch",
          exchanges_within_pass(), left);
    }
  }
  return {};
}

optim::Schedule Job::schedule_of(int64_t total_steps) const {
  optim::Schedule result = schedule;
  result.total_steps = total_steps;
  return result;
}

int64_t Job::step_samples() const { return strategy.sync.step_samples(batch, replicas()); }

int64_t Job::steps_per_epoch() const {
  return data::steps_left(data.train->size(), 0, step_samples(), remainder);
}

int64_t Job::total_steps() const {
  const int64_t all = steps_per_epoch() * epochs;
  return steps > 0 ? std::min(all, steps) : all;
}

std::vector<std::string> Job::output_names() const {
  std::vector<std::string> names = data.train->info().classes;
  for (int64_t k = 0; k < targets.values; ++k) names.push_back(targets.name(k));
  return names;
}

const char* Job::sample_word() const { return image[1] > 1 ? "image" : "sample"; }

int64_t Job::share(int worker) const {
  return data::slice_of(step_samples(), 0, step_samples(), shard_of(worker), remainder).count;
}

int64_t Job::short_share(int worker) const {
  const int64_t left = data.train->size() % step_samples();
  if (remainder != data::Remainder::short_batch || left == 0) return 0;
  return data::slice_of(left, 0, left, shard_of(worker), remainder).count;
}

int64_t Job::micro_batch(int worker) const {
  // With fewer samples than workers a share can be empty; the program still has a size.
  return std::max<int64_t>(1, share(worker) / accumulate);
}

namespace {

void put_data(const Job& job, JobRequest& request) {
  request.data = job.data_name;
  request.samples = job.random_samples;
  request.label_column = job.open.label_column;
  request.validation = job.open.validation;
  request.target_scale = job.task.mean.empty() ? "none" : "standard";
  request.augment = to_string(job.augment);
  request.unlabelled = job.teaching.unlabelled;
  request.synthetic = job.teaching.synthetic;
  request.remainder = to_string(job.remainder);
  request.shard = to_string(job.sharding);
  request.prefetch = job.prefetch;
  request.cache = to_string(job.cache);
}

void put_teaching(const Job& job, JobRequest& request) {
  if (!job.task.has_teacher()) return;
  request.teacher = job.teaching.from.string();
  request.temperature = job.task.teaching.temperature;
  request.teacher_share = job.task.teaching.share;
  request.teacher_answers = job.teaching.in_steps ? "steps" : "once";
}

void put_optimizer(const Job& job, JobRequest& request) {
  request.optimizer = to_string(job.optimizer.method);
  request.learning_rate = job.schedule.rate;
  request.momentum = job.optimizer.momentum;
  request.beta1 = job.optimizer.beta1;
  request.beta2 = job.optimizer.beta2;
  request.rho = job.optimizer.rho;
  request.epsilon = job.optimizer.epsilon;
  request.weight_decay = job.weight_decay;
  request.lookahead = job.lookahead;
  request.schedule = to_string(job.schedule.kind);
  request.cycles = job.schedule.cycles;
  request.warmup = job.schedule.warmup_steps;
  request.every = job.schedule.every;
  request.factor = job.schedule.factor;
  request.floor = job.schedule.floor;
  request.peak = job.schedule.peak;
  request.start = job.schedule.start;
  request.end = job.schedule.end;
}

}  // namespace

JobRequest to_request(const Job& job) {
  JobRequest request;
  const nn::NetworkFile* file = job.network.file();
  request.network = file != nullptr && file->is_onnx() ? file->path : job.network.name();
  request.weights = job.weights.empty() ? "none" : job.weights.string();
  request.freeze = job.freeze;
  request.classes = job.classes;
  request.input = image_size_text(job.image);
  request.batch = job.batch;
  request.accumulate = job.accumulate;
  request.epochs = job.epochs;
  request.steps = job.steps;
  request.precision = to_string(job.precision.dtype);
  request.threads = job.threads;
  request.seed = static_cast<int64_t>(job.seed);
  request.run = job.run.string();
  request.clip = job.clip;
  request.loss = nn::loss_text(job.task);
  request.class_weights = job.task.class_weights.empty()
                              ? "none"
                              : fmt::format("{}", fmt::join(job.task.class_weights, ","));
  request.label_smoothing = job.task.label_smoothing;
  request.checkpoint_every = job.checkpoint_every;
  put_teaching(job, request);
  put_data(job, request);
  put_optimizer(job, request);
  request.views = to_string(job.views);
  request.evaluate_every = job.evaluate_every;
  request.patience = job.early_stop.patience;
  request.metric = job.early_stop.metric->name;
  request.min_delta = job.early_stop.min_delta;
  apply(job.strategy, job.workers, request);
  if (job.strategy.link_is_known) request.links = strategy::to_string(job.strategy.link);
  request.min_workers = job.min_workers;
  request.network_patience = job.network_patience;
  request.encryption = job.encrypted ? "tls" : "none";
  request.batch_norm = to_string(job.batch_norm);
  if (!job.replay.empty()) request.replay = std::filesystem::absolute(job.replay).string();
  request.trace = to_string(job.trace);
  request.sample_seconds = job.sample_seconds;
  return request;
}

void apply(const strategy::Options& way, int workers, JobRequest& request) {
  request.workers = workers;
  request.exchange = to_string(way.exchange);
  request.sync = to_string(way.sync);
  request.wire = to_string(way.wire);
  request.update = to_string(way.update);
  request.split = to_string(way.split);
  request.pipeline = to_string(way.pipeline);
  request.permits = way.permits;
  request.bucket_mb = way.bucket_mb;
}

}  // namespace syrtos::job
