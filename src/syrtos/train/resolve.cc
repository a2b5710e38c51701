#include "syrtos/train/resolve.h"

#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/data/open.h"
#include "syrtos/data/sets/cache.h"
#include "syrtos/data/sets/fit.h"
#include "syrtos/data/sets/random_data.h"
#include "syrtos/data/statistics.h"
#include "syrtos/nn/zoo/zoo.h"
#include "syrtos/train/compiled_network.h"

namespace syrtos::train {

namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr int64_t kMaxCount = 1000000000;  // products of two stay far from overflow

void require(bool condition, std::string_view option, std::string_view expected, auto found) {
  if (!condition) fail_request("{}: expected {}, found {}", option, expected, found);
}

void check_numbers(const Job& job) {
  require(job.classes >= 1 || job.classes == kUnset, "--classes", "1 or more", job.classes);
  require(job.batch >= 1, "--batch", "1 or more", job.batch);
  require(job.epochs >= 1 && job.epochs <= kMaxCount, "--epochs", "1 to 1000000000", job.epochs);
  require(job.steps >= 0 && job.steps <= kMaxCount, "--steps", "0 (no limit) to 1000000000",
          job.steps);
  require(job.samples >= 1 && job.samples <= kMaxCount, "--samples", "1 to 1000000000",
          job.samples);
  require(job.threads >= 0 && job.threads <= kMaxThreads, "--threads", "0 (all cores) to 1024",
          job.threads);
  require(job.seed >= 0, "--seed", "0 or more", job.seed);
  require(job.clip >= 0, "--clip", "0 (any norm) or more", job.clip);
  require(job.weight_decay >= 0, "--weight-decay", "0 or more", job.weight_decay);
  require(!(job.learning_rate <= 0), "--lr", "above 0", job.learning_rate);
  require(job.label_smoothing >= 0 && job.label_smoothing < 1, "--label-smoothing",
          "at least 0 and below 1", job.label_smoothing);
  require(job.every >= 0, "--schedule-every", "0 (a third of the run) or more", job.every);
  require(job.patience >= 0 && job.patience <= 1000000, "--early-stop", "0 (never) or more epochs",
          job.patience);
  require(job.prefetch >= 0 && job.prefetch <= 1024, "--prefetch", "0 (none) to 1024 batches",
          job.prefetch);
  require(job.evaluate_every >= 1, "--evaluate-every", "1 epoch or more", job.evaluate_every);
  require(job.sample_seconds == 0 || job.sample_seconds >= 0.01, "--sample-seconds",
          "0 (none) or at least 0.01", job.sample_seconds);
  require(job.checkpoint_every >= 0, "--checkpoint-every", "0 (each epoch) or more steps",
          job.checkpoint_every);
  require(job.lookahead >= 0, "--lookahead", "0 (none) or more steps", job.lookahead);
  require(job.min_delta >= 0, "--early-stop-delta", "0 or more", job.min_delta);
}

}  // namespace

ImageSize parse_image_size(std::string_view text) {
  if (text == "auto") return {};
  std::vector<int64_t> numbers;
  const char* at = text.data();
  const char* end = text.data() + text.size();
  bool valid = true;
  while (valid) {
    int64_t number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    valid = error == std::errc() && number >= 1;
    numbers.push_back(number);
    if (next == end || *next != 'x') {
      valid = valid && next == end;
      break;
    }
    at = next + 1;
  }
  if (!valid || numbers.size() > 3) {
    fail_request("--input: expected an image size such as 32, 48x64 or 3x48x64, found '{}'", text);
  }
  if (numbers.size() == 1) return {0, numbers[0], numbers[0]};
  if (numbers.size() == 2) return {0, numbers[0], numbers[1]};
  return {numbers[0], numbers[1], numbers[2]};
}

Shape ImageSize::shape_or(const Shape& open) const {
  return {channels > 0 ? channels : open[0], height > 0 ? height : open[1],
          width > 0 ? width : open[2]};
}

Shape ImageSize::shape_for(const nn::NetworkInfo& network) const {
  return shape_or(network.image());
}

data::Splits random_splits(int64_t samples, const Shape& image, int64_t classes, uint64_t seed) {
  return {std::make_unique<data::RandomDataset>(samples, image, classes, seed),
          std::make_unique<data::RandomDataset>(std::max<int64_t>(1, samples / 8), image, classes,
                                                ~seed)};
}

namespace {

// Samples of all workers in a step.
int64_t resolved_step(const ResolvedJob& resolved, const Job& job) {
  return resolved.strategy.sync.step_samples(job.batch, job.workers);
}

}  // namespace

int64_t ResolvedJob::step_samples() const { return resolved_step(*this, job); }

int64_t ResolvedJob::steps_per_epoch() const {
  return data::steps_left(data.train->size(), 0, step_samples(), remainder);
}

int64_t ResolvedJob::share(int worker) const {
  return data::slice_of(step_samples(), 0, step_samples(), {worker, job.workers}, remainder).count;
}

int64_t ResolvedJob::short_share(int worker) const {
  const int64_t left = data.train->size() % step_samples();
  if (remainder != data::Remainder::short_batch || left == 0) return 0;
  return data::slice_of(left, 0, left, {worker, job.workers}, remainder).count;
}

nn::ModelOptions ResolvedJob::model_options(int64_t batch) const {
  return {.batch = batch,
          .classes = job.classes,
          .channels = image[0],
          .height = image[1],
          .width = image[2],
          .dtype = precision.dtype,
          .label_smoothing = static_cast<float>(job.label_smoothing),
          .synchronised_batch_norm = job.workers > 1 && job.batch_norm == "synchronised"};
}

namespace {

// Brings the samples to the network's size. Random windows are taken from the originals.
void fit_data(data::Splits& splits, ResolvedJob& resolved, const Job& job,
              const std::filesystem::path& cache_home) {
  data::FitOptions options{
      .height = resolved.image[1],
      .width = resolved.image[2],
      .cache = job.cache,
      .free_memory = free_memory(),
      .cache_directory = cache_home.empty() ? cache_home : cache_home / "syrtos"};
  resolved.fit = data::fit_of(splits.train->info());
  if (resolved.augment.resized_crop == 0) {
    splits.train = data::fit(std::move(splits.train), options);
    options.free_memory -= data::cache_bytes(splits.train->info());  // it may take so much
  } else if (splits.train->info().dtype != DType::u8) {
    fail_request("--augment: resized-crop is for pictures; {} has signals", job.data);
  }
  splits.test = data::fit(std::move(splits.test), options);
}

// Everything about the data that the job leaves open.
void resolve_data(ResolvedJob& resolved, Job& job, const nn::NetworkInfo& network,
                  const std::filesystem::path& cache_home) {
  const ImageSize size = parse_image_size(job.input);
  resolved.augment = data::parse_augment(job.augment);
  job.augment = data::to_string(resolved.augment);
  resolved.remainder = data::parse_remainder(job.remainder);
  resolved.views = parse_views(job.views);
  data::Splits splits;
  if (job.data == "random") {
    resolved.image = size.shape_for(network);
    if (job.classes == kUnset) job.classes = network.classes;
    splits =
        random_splits(job.samples, resolved.image, job.classes, static_cast<uint64_t>(job.seed));
    resolved.normalization = {{0}, {1}};
  } else {
    splits = data::open(job.data, cache_home);
    const Shape own = splits.train->info().shape();
    const bool same_size = splits.train->info().same_size();
    resolved.image = size.shape_or(same_size ? own : Shape{own[0], network.height, network.width});
    if (resolved.image[0] != own[0]) {
      fail_request("--input: the samples of {} have {} channels, found {}", job.data, own[0],
                   resolved.image[0]);
    }
    fit_data(splits, resolved, job, cache_home);
    const data::DatasetInfo& info = splits.train->info();
    const auto classes = static_cast<int64_t>(info.classes.size());
    if (job.classes == kUnset) job.classes = classes;
    if (job.classes < classes) {
      fail_request("--classes: {} has labels of {} classes, found {}: use {} or more", job.data,
                   classes, job.classes, classes);
    }
    constexpr int64_t kEnough = 4096;  // samples to know mean and deviation well
    resolved.normalization = data::measure(*splits.train, kEnough).normalization();
  }
  resolved.data = {std::move(splits.train), std::move(splits.test)};
  if (resolved.image[1] == 1 && resolved.augment.crop > 0) {
    fail_request("--augment: crop is for pictures, {} has signals: use shift", job.data);
  }
  if (resolved.image[1] > 1 && resolved.augment.shift > 0) {
    fail_request("--augment: shift is for signals, {} has pictures: use crop", job.data);
  }
  job.input = fmt::format("{}x{}x{}", resolved.image[0], resolved.image[1], resolved.image[2]);
  const int64_t samples = resolved.data.train->size();
  if (!resolved.strategy.sync.splits_batch() && job.batch <= samples &&
      job.batch * job.workers > samples) {
    fail_request(
        "--workers: the training data has {} samples, too few for {} batches of {} in each step: "
        "use at most {} workers or a smaller --batch",
        samples, job.workers, job.batch, samples / job.batch);
  }
  const int64_t left = samples % std::max<int64_t>(1, resolved_step(resolved, job));
  if (job.batch_norm == "synchronised" && resolved.remainder == data::Remainder::short_batch &&
      left > 0 && left < job.workers) {
    fail_request(
        "--batch-norm synchronised: the last step of an epoch has {} samples for {} workers: use "
        "--remainder drop or pad",
        left, job.workers);
  }
  if (job.batch > samples) {
    fail_request(
        "--batch: the training data has {} samples, found a batch of {}: use a smaller one",
        samples, job.batch);
  }
}

// How the work is distributed.
strategy::Options strategy_options(Job& job) {
  require(job.workers >= 1 && job.workers <= 4096, "--workers", "1 to 4096", job.workers);
  require(job.permits >= 0 && job.permits <= 4096, "--permits", "0 (any) to 4096", job.permits);
  require(job.bucket_mb >= 0 && job.bucket_mb <= 4096, "--bucket-mb", "0 (chosen) to 4096",
          job.bucket_mb);
  strategy::Options options;
  options.exchange = strategy::parse_exchange(job.exchange);
  options.sync = strategy::parse_sync(job.sync);
  options.wire = strategy::parse_wire(job.wire);
  options.update = strategy::parse_update(job.update, options.exchange);
  options.permits = static_cast<int>(job.permits);
  options.bucket_mb = job.bucket_mb;
  strategy::check(options, static_cast<int>(job.workers), job.batch, job.clip > 0);
  if (options.updates_at_servers() && job.lookahead > 0) {
    fail_request("--lookahead: only workers know both weights: use --update worker");
  }
  if (options.exchange.shares_memory() && job.lookahead > 0) {
    fail_request("--lookahead: nobody's steps are alone on shared weights: leave it out");
  }
  if (job.batch_norm != "local" && job.batch_norm != "synchronised") {
    fail_request("--batch-norm: expected local or synchronised, found '{}'{}", job.batch_norm,
                 suggestion(job.batch_norm, {"local", "synchronised"}));
  }
  if (job.batch_norm == "synchronised" && !options.sync.sees_all_gradients()) {
    fail_request(
        "--batch-norm synchronised: workers that do not take each step together have no common "
        "statistics: use --sync join or split, found {}",
        job.sync);
  }
  job.update = strategy::to_string(options.update);
  return options;
}

}  // namespace

ResolvedJob resolve(Job job, const CpuInfo& cpu, const std::filesystem::path& cache_home) {
  ResolvedJob resolved{.network = nn::find_network(job.network)};
  job.network = resolved.network.name();
  check_numbers(job);
  if (job.metric != "accuracy" && job.metric != "loss") {
    fail_request("unknown metric '{}'{}", job.metric, suggestion(job.metric, {"accuracy", "loss"}));
  }
  const optim::OptimizerOptions optimizer = optimizer_options(job);
  optim::check(optimizer);
  if (std::isnan(job.learning_rate)) {
    job.learning_rate = optim::default_learning_rate(optimizer.method);
  }
  if (job.epsilon == 0) job.epsilon = optim::default_epsilon(optimizer.method);
  optim::check(schedule_of(job, 1));

  resolved.strategy = strategy_options(job);
  resolved.trace = parse_trace(job.trace);
  resolved.precision = choose_precision(job.precision, cpu);
  job.precision = to_string(resolved.precision.dtype);
  if (job.threads == 0) {
    const bool shared = resolved.strategy.exchange.shares_memory();
    job.threads = shared ? std::max<int64_t>(1, cpu.cores / job.workers) : cpu.cores;
  }
  resolve_data(resolved, job, resolved.network.info(), cache_home);
  resolved.job = std::move(job);
  if (resolved.job.every == 0) {
    const int64_t steps = resolved.steps_per_epoch() * resolved.job.epochs;
    const int64_t limit = resolved.job.steps;
    resolved.job.every = std::max<int64_t>(1, (limit > 0 ? std::min(steps, limit) : steps) / 3);
  }
  return resolved;
}

}  // namespace syrtos::train
