#include "syrtos/train/job.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::train {

const std::vector<JobField>& job_fields() {
  static const std::vector<JobField> fields = {
      {"network", "--network",
       "network to train ('syrtos models'), such as lenet5 or resnet34:shortcut=padded",
       &Job::network},
      {"classes", "--classes", "number of classes (default: the data's)", &Job::classes},
      {"input", "--input", "image size, 32, 48x64 or 3x48x64 (default: the data's)", &Job::input},
      {"batch", "--batch", "samples per step", &Job::batch},
      {"epochs", "--epochs", "passes over the training data", &Job::epochs},
      {"steps", "--steps", "end after so many steps", &Job::steps},
      {"precision", "--precision", "auto, f32 or bf16", &Job::precision},
      {"threads", "--threads",
       "of each worker (default: all cores, divided among the workers of a host)", &Job::threads},
      {"seed", "--seed", "of all random numbers", &Job::seed},
      {"run", "--run", "directory for results (default: runs/<network>-<date>-<time>)", &Job::run},
      {"clip", "--clip", "largest norm of the gradient", &Job::clip},
      {"label_smoothing", "--label-smoothing", "share given to all classes", &Job::label_smoothing},
      {"checkpoint_every", "--checkpoint-every", "also after so many steps, not only each epoch",
       &Job::checkpoint_every},
      {"data.name", "--data", "data set ('syrtos data list'), random, or a path", &Job::data},
      {"data.samples", "--samples", "number of random samples", &Job::samples},
      {"data.augment", "--augment", "such as crop:4,flip,cutout:8 (see docs/data.md)",
       &Job::augment},
      {"data.remainder", "--remainder", "last samples of an epoch: short batch, drop or pad",
       &Job::remainder},
      {"data.prefetch", "--prefetch", "batches prepared ahead", &Job::prefetch},
      {"data.cache", "--cache", "keep decoded pictures: auto, none, memory or disk", &Job::cache},
      {"evaluate.every", "--evaluate-every", "epochs between evaluations", &Job::evaluate_every},
      {"evaluate.views", "--views", "of each test sample, averaged: none, flip or flip+shift",
       &Job::views},
      {"optimizer.name", "--optimizer", "sgd, momentum, nesterov, adam, adamw, adagrad, adadelta",
       &Job::optimizer},
      {"optimizer.lr", "--lr", "learning rate (default: the optimizer's)", &Job::learning_rate},
      {"optimizer.momentum", "--momentum", "of momentum and nesterov", &Job::momentum},
      {"optimizer.beta1", "--beta1", "of adam and adamw", &Job::beta1},
      {"optimizer.beta2", "--beta2", "of adam and adamw", &Job::beta2},
      {"optimizer.rho", "--rho", "of adadelta", &Job::rho},
      {"optimizer.epsilon", "--epsilon", "of adam, adamw, adagrad, adadelta", &Job::epsilon},
      {"optimizer.weight_decay", "--weight-decay", "of kernels", &Job::weight_decay},
      {"optimizer.lookahead", "--lookahead",
       "steps after which slow and fast weights meet; 0: none", &Job::lookahead},
      {"schedule.name", "--schedule",
       "constant, step, cosine, triangle, triangular (repeated), one-cycle", &Job::schedule},
      {"schedule.warmup", "--warmup", "steps of linear warm-up", &Job::warmup},
      {"schedule.every", "--schedule-every", "period of step and triangular, in steps",
       &Job::every},
      {"schedule.factor", "--schedule-factor", "of step", &Job::factor},
      {"schedule.floor", "--schedule-floor", "lowest fraction of cosine and triangular",
       &Job::floor},
      {"schedule.peak", "--schedule-peak", "where one-cycle and triangle peak, from 0 to 1",
       &Job::peak},
      {"schedule.start", "--schedule-start", "first fraction of triangle", &Job::start},
      {"schedule.end", "--schedule-end", "last fraction of triangle", &Job::end},
      {"distribute.workers", "--workers",
       "that train together: processes, or threads with --exchange shared", &Job::workers},
      {"distribute.exchange", "--exchange",
       "allreduce[:ring|halving-doubling|doubling|tree|hierarchical|mpi], ps, ps-sharded:K, "
       "ps-colocated, shared",
       &Job::exchange},
      {"distribute.sync", "--sync", "join, split, async, ssp:S, backup:B or local:H", &Job::sync},
      {"distribute.wire", "--wire", "what travels: f32, bf16 or threshold:T", &Job::wire},
      {"distribute.update", "--update", "who updates the weights: auto, server or worker",
       &Job::update},
      {"distribute.permits", "--permits", "transfers at a time that a server allows (0: any)",
       &Job::permits},
      {"distribute.bucket_mb", "--bucket-mb", "gradients exchanged at once (0: chosen)",
       &Job::bucket_mb},
      {"distribute.batch_norm", "--batch-norm",
       "statistics: local (each worker's samples) or synchronised", &Job::batch_norm},
      {"distribute.replay", "--replay",
       "sleep for the times in this file ('probe compute --times') instead of computing",
       &Job::replay},
      {"measure.sample_seconds", "--sample-seconds",
       "between two readings of the hosts' processors, memory and network; 0: none",
       &Job::sample_seconds},
      {"measure.trace", "--trace",
       "record events in trace.json.gz: of all steps, or of steps=100..110", &Job::trace},
      {"early_stop.patience", "--early-stop", "end after so many evaluations without improvement",
       &Job::patience},
      {"early_stop.metric", "--early-stop-metric", "accuracy or loss, on the test data",
       &Job::metric},
      {"early_stop.min_delta", "--early-stop-delta", "least change that is an improvement",
       &Job::min_delta},
  };
  return fields;
}

const JobField* find_field(std::string_view key) {
  const auto& fields = job_fields();
  const auto found = std::find_if(fields.begin(), fields.end(),
                                  [&](const JobField& field) { return field.key == key; });
  return found == fields.end() ? nullptr : &*found;
}

namespace {

template <typename Number>
Number parse_number(const std::string& text, std::string_view where, const char* kind) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_request("{}: expected {}, found '{}'", where, kind, text);
  }
  return value;
}

}  // namespace

void set_field(Job& job, const JobField& field, const std::string& text, std::string_view where) {
  if (const auto* member = std::get_if<std::string Job::*>(&field.member)) {
    job.** member = text;
  } else if (const auto* whole = std::get_if<int64_t Job::*>(&field.member)) {
    job.** whole = parse_number<int64_t>(text, where, "a whole number");
  } else {
    const double value = parse_number<double>(text, where, "a number");
    if (!std::isfinite(value)) fail_request("{}: expected a number, found '{}'", where, text);
    job.*std::get<double Job::*>(field.member) = value;
  }
}

optim::OptimizerOptions optimizer_options(const Job& job) {
  return {.method = optim::parse_method(job.optimizer),
          .momentum = job.momentum,
          .beta1 = job.beta1,
          .beta2 = job.beta2,
          .rho = job.rho,
          .epsilon = job.epsilon};
}

optim::Schedule schedule_of(const Job& job, int64_t total_steps) {
  return {.kind = optim::parse_schedule(job.schedule),
          .rate = job.learning_rate,
          .total_steps = total_steps,
          .warmup_steps = job.warmup,
          .every = job.every > 0 ? job.every : std::max<int64_t>(1, total_steps / 3),
          .factor = job.factor,
          .floor = job.floor,
          .peak = job.peak,
          .start = job.start,
          .end = job.end};
}

optim::EarlyStopping early_stopping(const Job& job) {
  using Mode = optim::EarlyStopping::Mode;
  return {job.metric == "loss" ? Mode::lowest : Mode::highest, static_cast<int>(job.patience),
          job.min_delta};
}

}  // namespace syrtos::train
