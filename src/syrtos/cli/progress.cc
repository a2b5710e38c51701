#include "syrtos/cli/progress.h"

#include <fmt/format.h>
#include <stdio_ext.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "syrtos/base/format.h"
#include "syrtos/cli/terminal.h"

namespace syrtos::cli {

namespace {

constexpr auto kRedraw = std::chrono::milliseconds(100);
constexpr int kBarWidth = 24;

std::string bold(const std::string& text) { return "\x1b[1m" + text + "\x1b[0m"; }

struct Piece {
  int rank;  ///< The highest is left out first.
  std::string text;
};

int width_of_all(const std::vector<Piece>& pieces) {
  int width = -2;  // there is nothing before the first
  for (const Piece& piece : pieces) width += 2 + width_of(piece.text);
  return width;
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

std::string progress_line(const train::StepProgress& info, double seconds_left,
                          const std::string& sample, int columns, bool with_bar,
                          train::Emphasis strong) {
  const double part =
      static_cast<double>(info.step_in_epoch) / static_cast<double>(info.steps_per_epoch);
  const std::string epoch = fmt::format("epoch {}/{}", info.epoch, info.epochs);
  std::vector<Piece> pieces = {
      {3, epoch},
      {5, with_bar ? "│" + bar(part, kBarWidth) + "│" : ""},
      {0, fmt::format("step {}/{}", info.step_in_epoch, info.steps_per_epoch)},
      {2, fmt::format("loss {:.4f}", info.loss)},
      {4, fmt::format("{} {}s/s", format_count(std::llround(info.images_per_s)), sample)},
      {1, format_duration(seconds_left) + " left"}};
  std::erase_if(pieces, [](const Piece& piece) { return piece.text.empty(); });
  while (pieces.size() > 1 && width_of_all(pieces) > columns) {
    pieces.erase(std::max_element(pieces.begin(), pieces.end(),
                                  [](const Piece& a, const Piece& b) { return a.rank < b.rank; }));
  }
  std::string line;
  for (const Piece& piece : pieces) line += (line.empty() ? "" : "  ") + piece.text;
  line = cut(line, columns);
  return line.starts_with(epoch) ? strong("epoch") + line.substr(5) : line;
}

Progress::Progress(const ProgressPlace& place)
    : place_(place),
      terminal_(!place.may_be_file && (place.columns > 0 || isatty(fileno(place.out)) != 0)) {}

train::Emphasis Progress::strong() const {
  return terminal_ && place_.colour ? bold : train::plain;
}

void Progress::started(const train::StartInfo& info) {
  epochs_ = info.job.epochs;
  sample_ = info.job.sample_word();
  first_step_ = info.first_step;
  start_ = last_drawn_ = Clock::now();
  std::string text;
  for (const std::string& line : train::start_lines(info, strong())) text += line + "\n";
  put(text);
}

void Progress::put(const std::string& text) const {
  std::fwrite(text.data(), 1, text.size(), place_.out);
  if (std::fflush(place_.out) != 0) __fpurge(place_.out);
}

void Progress::clear() {
  put(drawn_ ? "\r\x1b[K" : "");
  drawn_ = false;
}

void Progress::step(const train::StepProgress& info) {
  const auto now = Clock::now();
  if (now - last_drawn_ < (terminal_ ? kRedraw : place_.plain_every)) return;
  last_drawn_ = now;
  const double spent = std::chrono::duration<double>(now - start_).count();
  const double left = spent / static_cast<double>(info.step - first_step_) *
                      static_cast<double>(info.total_steps - info.step);
  if (terminal_) {
    // What fills the last column may begin a new line.
    const int columns = (place_.columns > 0 ? place_.columns : columns_of(place_.out)) - 1;
    put("\r\x1b[K" + progress_line(info, left, sample_, columns, true, strong()));
  } else {
    put(progress_line(info, left, sample_, std::numeric_limits<int>::max(), false) + "\n");
  }
  drawn_ = terminal_;
}

void Progress::note(const std::string& text) {
  clear();
  put(fmt::format("{}: {}\n", strong()("note"), text));
}

void Progress::epoch(const train::EpochMetrics& metrics) {
  clear();
  put(train::epoch_line(metrics, epochs_, sample_, strong()) + "\n");
  last_drawn_ = Clock::now();
}

}  // namespace syrtos::cli
