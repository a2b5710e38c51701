#include "syrtos/train/progress/progress_text.h"

#include <fmt/format.h>

#include <cmath>

#include "syrtos/base/cpu.h"
#include "syrtos/base/format.h"
#include "syrtos/train/trainer.h"

namespace syrtos::train {

std::string plain(const std::string& text) { return text; }

std::vector<std::string> start_lines(const StartInfo& info, Emphasis strong) {
  const Job& job = info.job;
  std::vector<std::string> lines;
  lines.push_back(fmt::format("{}: {} parameters, {} ({}), {} thread{}, {} of memory",
                              strong(job.network.name()), format_count(info.parameters),
                              to_string(job.precision.dtype), job.precision.reason, job.threads,
                              job.threads == 1 ? "" : "s",
                              format_bytes(static_cast<double>(info.memory_bytes))));
  lines.push_back(fmt::format("data: {}, {} training and {} test images; {} steps of {} images",
                              job.data_name, format_count(job.data.train->size()),
                              format_count(job.data.test->size()), format_count(info.total_steps),
                              job.step_samples()));
  if (job.workers > 1 || job.strategy.exchange.uses_servers()) {
    lines.push_back(
        fmt::format("{} workers: --exchange {} --sync {} --wire {} --update {}, {} bucket{}",
                    job.workers, to_string(job.strategy.exchange), to_string(job.strategy.sync),
                    to_string(job.strategy.wire), to_string(job.strategy.update), info.buckets,
                    info.buckets == 1 ? "" : "s"));
  }
  if (const int cores = cpu_info().cores; job.threads > cores) {
    lines.push_back(fmt::format(
        "warning: {} threads on {} core{}: they stand in line for each other; leave --threads out, "
        "or use {}",
        job.threads, cores, cores == 1 ? "" : "s", cores));
  }
  if (!job.replay.empty()) {
    lines.push_back(
        fmt::format("computing is replayed from {}: the loss means nothing", job.replay.string()));
  }
  lines.push_back(fmt::format(
      "run directory: {}{}", info.directory.path().string(),
      info.first_step > 0 ? fmt::format(" (going on after step {})", info.first_step) : ""));
  return lines;
}

std::string epoch_line(const run::EpochMetrics& metrics, int64_t epochs, Emphasis strong) {
  const std::string test =
      metrics.evaluated ? fmt::format("test loss {:.4f}  test accuracy {}  ", metrics.test_loss,
                                      strong(fmt::format("{:.2f} %", 100 * metrics.test_accuracy)))
                        : "";
  return fmt::format(
      "{} {}/{}  loss {:.4f}  accuracy {:.2f} %  {}{} images/s  {}{}", strong("epoch"),
      metrics.epoch, epochs, metrics.train_loss, 100 * metrics.train_accuracy, test,
      format_count(std::llround(metrics.images_per_s)),
      format_duration(metrics.seconds.training() + metrics.seconds[trace::Part::evaluate]),
      metrics.best ? "  best" : "");
}

}  // namespace syrtos::train
