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

std::string bold(const std::string& text) { return "\x1b[1m" + text + "\x1b[0m"; }

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

train::Emphasis Progress::strong() const { return colour_ ? bold : train::plain; }

void Progress::started(const train::StartInfo& info) {
  epochs_ = info.job.epochs;
  first_step_ = info.first_step;
  start_ = last_drawn_ = Clock::now();
  for (const std::string& line : train::start_lines(info, strong())) fmt::print(out_, "{}\n", line);
  std::fflush(out_);
}

void Progress::clear() {
  if (drawn_) fmt::print(out_, "\r\x1b[K");
  drawn_ = false;
  std::fflush(out_);
}

void Progress::step(const train::StepProgress& info) {
  if (!terminal_ || Clock::now() - last_drawn_ < kRedraw) return;
  last_drawn_ = Clock::now();
  const double spent = std::chrono::duration<double>(last_drawn_ - start_).count();
  const double left = spent / static_cast<double>(info.step - first_step_) *
                      static_cast<double>(info.total_steps - info.step);
  const double part =
      static_cast<double>(info.step_in_epoch) / static_cast<double>(info.steps_per_epoch);
  const bool wide = (columns_ > 0 ? columns_ : columns(out_)) >= kBarNeeds;
  fmt::print(out_, "\r\x1b[K{} {}/{} {}step {}/{}  loss {:.4f}  {} images/s  {} left",
             strong()("epoch"), info.epoch, info.epochs,
             wide ? "│" + bar(part, kBarWidth) + "│ " : "", info.step_in_epoch,
             info.steps_per_epoch, info.loss, format_count(std::llround(info.images_per_s)),
             format_duration(left));
  std::fflush(out_);
  drawn_ = true;
}

void Progress::epoch(const train::EpochMetrics& metrics) {
  clear();
  fmt::print(out_, "{}\n", train::epoch_line(metrics, epochs_, strong()));
  std::fflush(out_);
}

}  // namespace syrtos::cli
