#include "syrtos/job/resolve.h"

#include <algorithm>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"
#include "syrtos/base/log.h"
#include "syrtos/job/networks.h"
#include "syrtos/job/notes.h"
#include "syrtos/job/resolve_data.h"
#include "syrtos/job/resolve_split.h"
#include "syrtos/nn/side_by_side.h"
#include "syrtos/strategy/links.h"

namespace syrtos::job {

namespace {

constexpr int64_t kMaxThreads = 1024;
constexpr double kMostRate = 1000;  // nothing learns with more, as with decay
constexpr double kMostDecay = 100;
constexpr int64_t kMaxCount = 1000000000;  // products of two stay far from overflow

void require(bool condition, std::string_view option, std::string_view expected, auto found) {
  if (!condition) fail_request("{}: expected {}, found {}", option, expected, found);
}

void check_numbers(const JobRequest& request) {
  require(request.classes >= 1 || request.classes == kUnset, "--classes", "2 or more",
          request.classes);
  require(request.validation >= 0 && request.validation < 1, "--validation",
          "a share of at least 0 (none) and below 1", request.validation);
  require(request.batch >= 1, "--batch", "1 or more", request.batch);
  require(request.accumulate >= 0 && request.accumulate <= kMaxCount, "--accumulate",
          "0 (chosen), 1 (the whole batch at once) or more micro-batches", request.accumulate);
  require((request.epochs >= 1 && request.epochs <= kMaxCount) || request.epochs == kUnset,
          "--epochs", "1 to 1000000000", request.epochs);
  require(request.steps >= 0 && request.steps <= kMaxCount, "--steps", "0 (no limit) to 1000000000",
          request.steps);
  require(request.samples >= 1 && request.samples <= kMaxCount, "--samples", "1 to 1000000000",
          request.samples);
  require(request.threads >= 0 && request.threads <= kMaxThreads, "--threads",
          "0 (all cores) to 1024", request.threads);
  require(request.seed >= 0, "--seed", "0 or more", request.seed);
  require(request.clip >= 0, "--clip", "0 (any norm) or more", request.clip);
  require(request.weight_decay >= 0 && request.weight_decay <= kMostDecay, "--weight-decay",
          "0 to 100", request.weight_decay);
  require(!(request.learning_rate <= 0) && !(request.learning_rate > kMostRate), "--lr",
          "above 0 and at most 1000", request.learning_rate);
  require(request.label_smoothing >= 0 && request.label_smoothing < 1, "--label-smoothing",
          "at least 0 and below 1", request.label_smoothing);
  require(request.every >= 0, "--schedule-every", "0 (a third of the run) or more", request.every);
  require(request.patience >= 0 && request.patience <= 1000000, "--early-stop",
          "0 (never) or more epochs", request.patience);
  require(request.prefetch >= 0 && request.prefetch <= 1024, "--prefetch",
          "0 (none) to 1024 batches", request.prefetch);
  require(request.evaluate_every >= 0, "--evaluate-every", "0 (never) or more epochs",
          request.evaluate_every);
  require(request.evaluate_every > 0 || request.patience == 0, "--early-stop",
          "0 (never) with --evaluate-every 0", request.patience);
  require(request.sample_seconds == 0 || request.sample_seconds >= 0.01, "--sample-seconds",
          "0 (none) or at least 0.01", request.sample_seconds);
  require(request.checkpoint_every >= 0, "--checkpoint-every", "0 (each epoch) or more steps",
          request.checkpoint_every);
  require(request.lookahead >= 0, "--lookahead", "0 (none) or more steps", request.lookahead);
  require(request.min_delta >= 0, "--early-stop-delta", "0 or more", request.min_delta);
}

/// How the work is distributed.
strategy::Options strategy_options(const JobRequest& request) {
  require(request.workers >= 1 && request.workers <= 4096, "--workers", "1 to 4096",
          request.workers);
  require(request.min_workers >= 1, "--min-workers", "at least 1", request.min_workers);
  require(request.network_patience >= 1 && request.network_patience <= 3600, "--patience",
          "1 to 3600 seconds", request.network_patience);
  require(request.encryption == "tls" || request.encryption == "none", "--encryption",
          "tls or none", request.encryption);
  require(request.permits >= 0 && request.permits <= 4096, "--permits", "0 (any) to 4096",
          request.permits);
  require(request.bucket_mb >= 0 && request.bucket_mb <= 4096, "--bucket-mb", "0 (chosen) to 4096",
          request.bucket_mb);
  strategy::Options options = way_of(request);
  strategy::check(options, static_cast<int>(request.workers), request.batch, request.clip > 0);
  if (options.updates_at_servers() && request.lookahead > 0) {
    fail_request("--lookahead: only workers know both weights: use --update worker");
  }
  if (options.exchange.shares_memory() && request.lookahead > 0) {
    fail_request("--lookahead: nobody's steps are alone on shared weights: leave it out");
  }
  return options;
}

BatchNorm batch_norm_of(const JobRequest& request, const strategy::Options& options) {
  const BatchNorm result = parse_batch_norm(request.batch_norm);
  if (result == BatchNorm::synchronised && !options.sync.sees_all_gradients()) {
    fail_request(
        "--batch-norm synchronised: workers that do not take each step together have no common "
        "statistics: use --sync join or split, found {}",
        request.sync);
  }
  return result;
}

optim::OptimizerOptions optimizer_of(const JobRequest& request) {
  optim::OptimizerOptions options{.method = optim::parse_method(request.optimizer),
                                  .momentum = request.momentum,
                                  .beta1 = request.beta1,
                                  .beta2 = request.beta2,
                                  .rho = request.rho,
                                  .epsilon = request.epsilon};
  optim::check(options);
  if (options.epsilon == 0) options.epsilon = optim::default_epsilon(options.method);
  return options;
}

/// Where the weights start from: "" where they are drawn.
std::filesystem::path weights_of(const JobRequest& request, const nn::Network& network) {
  if (request.weights == "none") return {};
  if (request.weights != "auto") return std::filesystem::absolute(request.weights);
  return network.file() != nullptr && network.file()->is_onnx() ? network.file()->path : "";
}

/// A period that was left open is decided when the length of the run is known.
optim::Schedule schedule_of(const JobRequest& request, optim::Method method) {
  const bool given = !std::isnan(request.learning_rate);
  const optim::Schedule schedule{
      .kind = optim::parse_schedule(request.schedule),
      .rate = given ? request.learning_rate : optim::default_learning_rate(method),
      .cycles = request.cycles,
      .warmup_steps = request.warmup,
      .every = std::max<int64_t>(1, request.every),
      .factor = request.factor,
      .floor = request.floor,
      .peak = request.peak,
      .start = request.start,
      .end = request.end};
  optim::check(schedule);
  return schedule;
}

/// Whom to ask, and about what; how much it counts is the task's (resolve_task.cc).
Teaching teaching_of(const JobRequest& request) {
  Teaching teaching{.unlabelled = request.unlabelled, .synthetic = request.synthetic};
  require(request.synthetic >= 0 && request.synthetic <= kMaxCount, "--synthetic",
          "0 (none) to 1000000000 samples", request.synthetic);
  if (request.teacher.empty()) {
    if (teaching.unlabelled.empty() && teaching.synthetic == 0) return teaching;
    fail_request("{}: nobody says what these samples are: give --teacher too, or leave it out",
                 teaching.unlabelled.empty() ? "--synthetic" : "--unlabelled");
  }
  teaching.from = std::filesystem::absolute(request.teacher);
  require(request.temperature >= 0.1 && request.temperature <= 100, "--temperature",
          "a number from 0.1 to 100", request.temperature);
  require(request.teacher_share > 0 && request.teacher_share <= 1, "--teacher-share",
          "a share above 0 and at most 1 (the teacher alone)", request.teacher_share);
  const std::string& when = request.teacher_answers;
  if (when != "auto" && when != "once" && when != "steps") {
    fail_request("--teacher-answers: expected auto, once or steps, found '{}'{}", when,
                 suggestion(when, {"auto", "once", "steps"}));
  }
  teaching.in_steps =
      when == "steps" || (when == "auto" && !data::parse_augment(request.augment).empty());
  if (teaching.in_steps && split_text(request.split) != "none" && request.split != "columns") {
    fail_request(
        "--teacher with --augment: with --split the worker that has the labels does not have the "
        "samples: give --teacher-answers once, or leave --split out");
  }
  return teaching;
}

/// Weights that were not trained are not worth measuring, unless somebody insists.
int64_t evaluates_every(const JobRequest& request) {
  return request.replay.empty() || request.gives("evaluate.every") ? request.evaluate_every : 0;
}

int64_t epochs_of(const JobRequest& request, const Job& job) {
  if (request.epochs != kUnset) return request.epochs;
  const int64_t in_epoch = std::max<int64_t>(1, job.steps_per_epoch());
  return std::max<int64_t>(1, (job.steps + in_epoch - 1) / in_epoch);
}

/// Cycles end with epochs, so that there is something to measure and to keep.
void check_cycles(const Job& job) {
  const int64_t cycles = job.schedule.cycles;
  if (cycles == 1) return;
  if (job.schedule.kind == optim::ScheduleKind::constant) {
    fail_request(
        "--cycles {}: a constant learning rate has no end at which a network is done: give "
        "--schedule cosine",
        cycles);
  }
  if (job.steps > 0) {
    fail_request("--cycles {}: cycles are of whole epochs: give --epochs in place of --steps",
                 cycles);
  }
  if (job.epochs % cycles == 0) return;
  fail_request("--cycles {}: expected epochs that {} cycles divide, found {}: use --epochs {}",
               cycles, cycles, job.epochs, (job.epochs + cycles - 1) / cycles * cycles);
}

int threads_of(const JobRequest& request, const strategy::Options& options, const CpuInfo& cpu) {
  if (request.threads > 0) return static_cast<int>(request.threads);
  const bool shared = options.exchange.shares_memory();
  return shared ? std::max(1, static_cast<int>(cpu.cores / request.workers)) : cpu.cores;
}

}  // namespace

strategy::Options way_of(const JobRequest& request) {
  strategy::Options options;
  options.exchange = strategy::parse_exchange(request.exchange);
  options.sync = strategy::parse_sync(request.sync);
  options.wire = strategy::parse_wire(request.wire);
  options.update = strategy::parse_update(request.update, options.exchange);
  options.split = strategy::parse_split(split_text(request.split));
  options.pipeline = strategy::parse_pipeline(request.pipeline);
  options.permits = static_cast<int>(request.permits);
  options.bucket_mb = request.bucket_mb;
  if (const auto links = strategy::parse_links(request.links)) {
    options.link = *links;
    options.link_is_known = true;
  }
  return options;
}

Job resolve(const JobRequest& request, const CpuInfo& cpu, const std::filesystem::path& cache_home,
            Own own) {
  Job job{.network = own.network ? *std::move(own.network) : find_network(request.network)};
  check_numbers(request);
  job.optimizer = optimizer_of(request);
  job.schedule = schedule_of(request, job.optimizer.method);
  job.weight_decay = request.weight_decay;
  job.lookahead = request.lookahead;
  job.early_stop.patience = static_cast<int>(request.patience);
  job.early_stop.min_delta = request.min_delta;
  job.workers = static_cast<int>(request.workers);
  job.strategy = strategy_options(request);
  job.batch_norm = batch_norm_of(request, job.strategy);
  if (!request.replay.empty()) job.replay = std::filesystem::absolute(request.replay);
  job.trace = parse_trace(request.trace);
  job.min_workers = static_cast<int>(request.min_workers);
  job.network_patience = static_cast<int>(request.network_patience);
  job.encrypted = request.encryption == "tls";
  job.sample_seconds = request.sample_seconds;
  job.precision = choose_precision(request.precision, cpu);
  job.threads = threads_of(request, job.strategy, cpu);
  job.batch = request.batch;
  job.accumulate = request.accumulate;
  job.steps = request.steps;
  job.seed = static_cast<uint64_t>(request.seed);
  job.run = request.run;
  job.weights = weights_of(request, job.network);
  job.freeze = request.freeze;
  job.clip = request.clip;
  job.checkpoint_every = request.checkpoint_every;
  job.views = parse_views(request.views);
  job.evaluate_every = evaluates_every(request);
  job.teaching = teaching_of(request);
  resolve_data(request, cache_home, std::move(own.data), job);
  resolve_split(request, job);
  resolve_batches(request, job);
  job.precision = choose_precision(request.precision, cpu, job.network, job.model_options(1));
  job.epochs = epochs_of(request, job);
  check_cycles(job);
  if (job.clip > 0 && nn::members_of(job.network.reference()) > 1) {
    fail_request(
        "--clip: {} are several networks, and the norm of all their gradients is not that of each: "
        "leave it out",
        job.network.name());
  }
  if (request.every == 0) {
    job.schedule.every = std::max<int64_t>(1, job.total_steps() / (3 * job.schedule.cycles));
  }
  job.notes = notes_of(request, job, cpu);
  log_info("job: {} on {}, batch {}, {} ({}), learning rate {}, {} steps in an epoch",
           job.network.name(), request.data, job.batch, to_string(job.precision.dtype),
           job.precision.reason, job.schedule.rate, job.steps_per_epoch());
  log_info("job: {} worker{} with {} thread{}, exchange {}, sync {}, wire {}", job.workers,
           job.workers == 1 ? "" : "s", job.threads, job.threads == 1 ? "" : "s", request.exchange,
           request.sync, request.wire);
  return job;
}

}  // namespace syrtos::job
