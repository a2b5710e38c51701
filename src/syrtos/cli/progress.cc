#include "syrtos/cli/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "syrtos/base/format.h"

namespace syrtos::cli {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kBarWidth = 24;
constexpr int kBarNeeds = 90;  // columns of terminal for the bar to be worth its place

int columns(std::FILE* out) {
  winsize size{};
  return ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

std::string bar(double part, int width) {
  constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(std::lround(std::clamp(part, 0.0, 1.0) * width * 8));
  std::string text;
  for (int cell = 0; cell < eighths / 8; ++cell) text += "█";
  text += kEighths[eighths % 8];
  const int used = eighths / 8 + (eighths % 8 > 0 ? 1 : 0);
  return text + std::string(static_cast<size_t>(width - used), ' ');
}

Progress::Progress(std::FILE* out, bool colour, int columns)
    : out_(out),
      columns_(columns),
      terminal_(columns > 0 || isatty(fileno(out)) != 0),
      colour_(terminal_ && colour) {}

std::string Progress::strong(const std::string& text) const {
  return colour_ ? "\x1b[1m" + text + "\x1b[0m" : text;
}

void Progress::say(const std::string& line) {
  fmt::print(out_, "{}\n", line);
  file_.log(line);
}

void Progress::started(const train::StartInfo& info) {
  file_.begin(info);
  const train::Job& job = info.job.job;
  epochs_ = job.epochs;
  first_step_ = info.first_step;
  start_ = last_drawn_ = Clock::now();
  say(fmt::format("{}: {} parameters, {} ({}), {} thread{}, {} of memory", strong(job.network),
                  format_count(info.parameters), job.precision, info.job.precision.reason,
                  job.threads, job.threads == 1 ? "" : "s",
                  format_bytes(static_cast<double>(info.memory_bytes))));
  say(fmt::format("data: {}, {} training and {} test images; {} steps of {} images", job.data,
                  format_count(info.job.data.train->size()),
                  format_count(info.job.data.test->size()), format_count(info.total_steps),
                  info.job.step_samples()));
  if (job.workers > 1 || info.job.strategy.exchange.uses_servers()) {
    say(fmt::format("{} workers: --exchange {} --sync {} --wire {} --update {}, {} bucket{}",
                    job.workers, strategy::to_string(info.job.strategy.exchange), job.sync,
                    job.wire, job.update, info.buckets, info.buckets == 1 ? "" : "s"));
  }
  if (!job.replay.empty()) {
    say(fmt::format("computing is replayed from {}: the loss means nothing", job.replay));
  }
  say(fmt::format("run directory: {}{}", info.directory.path().string(),
                  first_step_ > 0 ? fmt::format(" (going on after step {})", first_step_) : ""));
  std::fflush(out_);
}

void Progress::clear() {
  if (drawn_) fmt::print(out_, "\r\x1b[K");
  drawn_ = false;
  std::fflush(out_);
}

void Progress::step(const train::StepInfo& info) {
  file_.step(info);
  if (!terminal_ || Clock::now() - last_drawn_ < kRedraw) return;
  last_drawn_ = Clock::now();
  const double spent = std::chrono::duration<double>(last_drawn_ - start_).count();
  const double left = spent / static_cast<double>(info.step - first_step_) *
                      static_cast<double>(info.total_steps - info.step);
  const double part =
      static_cast<double>(info.step_in_epoch) / static_cast<double>(info.steps_per_epoch);
  const bool wide = (columns_ > 0 ? columns_ : columns(out_)) >= kBarNeeds;
  fmt::print(out_, "\r\x1b[K{} {}/{} {}step {}/{}  loss {:.4f}  {} images/s  {} left",
             strong("epoch"), info.epoch, info.epochs,
             wide ? "│" + bar(part, kBarWidth) + "│ " : "", info.step_in_epoch,
             info.steps_per_epoch, info.loss, format_count(std::llround(info.images_per_s)),
             format_duration(left));
  std::fflush(out_);
  drawn_ = true;
}

void Progress::epoch(const train::EpochMetrics& metrics) {
  clear();
  const std::string test =
      metrics.evaluated ? fmt::format("test loss {:.4f}  test accuracy {}  ", metrics.test_loss,
                                      strong(fmt::format("{:.2f} %", 100 * metrics.test_accuracy)))
                        : "";
  say(fmt::format("{} {}/{}  loss {:.4f}  accuracy {:.2f} %  {}{} images/s  {}{}", strong("epoch"),
                  metrics.epoch, epochs_, metrics.train_loss, 100 * metrics.train_accuracy, test,
                  format_count(std::llround(metrics.images_per_s())),
                  format_duration(metrics.seconds.training() + metrics.seconds.evaluate),
                  metrics.best ? "  best" : ""));
  std::fflush(out_);
}

}  // namespace syrtos::cli
