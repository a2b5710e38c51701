#include "syrtos/train/progress/progress_text.h"

#include <fmt/format.h>

#include <cmath>

#include "syrtos/base/counted.h"
#include "syrtos/base/format.h"
#include "syrtos/job/image_size.h"
#include "syrtos/train/trainer.h"

namespace syrtos::train {

namespace {

const char* plural(int64_t count) { return count == 1 ? "" : "s"; }

/// "3x32x32", and what was done to the samples for it.
std::string input_text(const Job& job) {
  std::string size = job::image_size_text(job.image);
  if (job.stored == job.image) return size;
  if (job.stored[1] == 0) return size + " (the middle of pictures of different sizes)";
  return fmt::format("{} (scaled from {}x{})", size, job.stored[1], job.stored[2]);
}

std::string network_line(const StartInfo& info, Emphasis strong) {
  const Job& job = info.job;
  return fmt::format("{}: {} parameters, input {}, {} ({}), {} thread{}, {} of memory",
                     strong(job.network.name()), format_count(info.parameters), input_text(job),
                     to_string(job.precision.dtype), job.precision.reason, job.threads,
                     plural(job.threads), format_bytes(static_cast<double>(info.memory_bytes)));
}

/// "10 classes", "3 values (--loss l1)"
std::string targets_text(const Job& job) {
  if (job.task.has_classes()) return fmt::format("{} classes", job.classes);
  return fmt::format("{} {}{} (--loss {})", job.classes, job.task.has_labels() ? "label" : "value",
                     plural(job.classes), nn::loss_name(job.task));
}

std::string data_line(const StartInfo& info) {
  const Job& job = info.job;
  const std::string word = job.sample_word();
  return fmt::format(
      "data: {}, {} training and {} {} {}s, {}, augmentation {}; {} step{} of {} {}{}",
      job.data_name, format_count(job.data.train->size()), format_count(job.data.test->size()),
      job.measured_word(), word, targets_text(job), to_string(job.augment),
      format_count(info.total_steps), plural(info.total_steps), job.step_samples(), word,
      plural(job.step_samples()));
}

std::string optimizer_line(const Job& job) {
  const optim::Method method = job.optimizer.method;
  std::string text =
      fmt::format("optimizer: {}, learning rate {:.6g}", to_string(method), job.schedule.rate);
  if (job.schedule.kind != optim::ScheduleKind::constant || job.schedule.warmup_steps > 0) {
    text += fmt::format(" ({}{})", to_string(job.schedule.kind),
                        job.schedule.warmup_steps > 0
                            ? ", warm-up of " + counted(job.schedule.warmup_steps, "step")
                            : "");
  }
  if (method == optim::Method::momentum || method == optim::Method::nesterov) {
    text += fmt::format(", momentum {:.6g}", job.optimizer.momentum);
  }
  if (job.weight_decay > 0) text += fmt::format(", weight decay {:.6g}", job.weight_decay);
  if (job.clip > 0) text += fmt::format(", clipped at {:.6g}", job.clip);
  if (job.lookahead > 0) text += fmt::format(", lookahead {}", job.lookahead);
  return text;
}

std::string team_line(const StartInfo& info) {
  const Job& job = info.job;
  const strategy::Split& way = job.strategy.split;
  std::string split =
      way == strategy::Split::none() ? "" : fmt::format(" --split {}", to_string(way));
  if (way.cuts()) {
    split += fmt::format(" --pipeline {} ({} part{} of {} micro-batch{}: {})",
                         to_string(job.strategy.pipeline), way.parts, plural(way.parts),
                         job.accumulate, job.accumulate == 1 ? "" : "es", job.parts_text);
  }
  return fmt::format("{} worker{}: --exchange {} --sync {} --wire {} --update {}{}, {} bucket{}",
                     job.workers, plural(job.workers), to_string(job.strategy.exchange),
                     to_string(job.strategy.sync), to_string(job.strategy.wire),
                     to_string(job.strategy.update), split, info.buckets, plural(info.buckets));
}

}  // namespace

std::string plain(const std::string& text) { return text; }

std::vector<std::string> start_lines(const StartInfo& info, Emphasis strong) {
  const Job& job = info.job;
  if (info.team > 1) {
    std::vector<std::string> lines = {team_line(info)};
    for (const std::string& note : info.notes)
      lines.push_back(fmt::format("{}: {}", strong("note"), note));
    return lines;
  }
  std::vector<std::string> lines = {network_line(info, strong), data_line(info),
                                    optimizer_line(job)};
  lines.insert(lines.end(), info.weights.begin(), info.weights.end());
  if (job.workers > 1 || job.strategy.exchange.uses_servers()) lines.push_back(team_line(info));
  if (!job.replay.empty()) {
    lines.push_back(fmt::format("computing is replayed from {}: the loss means nothing{}",
                                job.replay.string(),
                                job.evaluate_every == 0 ? ", and nothing is evaluated" : ""));
  }
  lines.push_back(fmt::format(
      "run directory: {}{}", info.directory.path().string(),
      info.first_step > 0 ? fmt::format(" (going on after step {})", info.first_step) : ""));
  // Of one worker that has more threads than cores the job itself says so.
  if (info.beside > 1 && info.cores > 0 && info.beside * job.threads > info.cores &&
      job.replay.empty()) {
    lines.push_back(fmt::format(
        "{}: {} workers of {} thread{} share {} core{}: no faster than {}", strong("note"),
        info.beside, job.threads, plural(job.threads), info.cores, plural(info.cores),
        info.cores > 1 ? fmt::format("--workers {} --threads 1", info.cores) : "one worker"));
  }
  for (const std::string& note : info.notes) lines.push_back(strong("note") + ": " + note);
  for (const std::string& note : job.notes) lines.push_back(strong("note") + ": " + note);
  return lines;
}

std::string epoch_line(const run::EpochMetrics& metrics, int64_t epochs, const std::string& sample,
                       Emphasis strong) {
  std::string test;
  if (metrics.evaluated) {
    test = fmt::format("{} loss {:.4f}  ", metrics.set, metrics.test_loss);
    for (const run::Score& score : metrics.test) {
      if (!score.metric->shown) continue;
      test += fmt::format("{} {} {}  ", metrics.set, score.metric->title,
                          strong(score.metric->text(score.value)));
    }
  }
  return fmt::format(
      "{} {}/{}  loss {:.4f}  {}  {}{} {}s/s  {}{}", strong("epoch"), metrics.epoch, epochs,
      metrics.train_loss, run::to_text(metrics.train), test,
      format_count(std::llround(metrics.images_per_s)), sample,
      format_duration(metrics.seconds.training() + metrics.seconds[trace::Part::evaluate]),
      metrics.best ? "  best" : "");
}

}  // namespace syrtos::train
