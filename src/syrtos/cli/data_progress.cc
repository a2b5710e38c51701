#include "syrtos/cli/data_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "syrtos/base/format.h"
#include "syrtos/cli/progress.h"
#include "syrtos/cli/terminal.h"

namespace syrtos::cli {

namespace {

constexpr auto kDataRedraw = std::chrono::milliseconds(100);
constexpr int kDataBarWidth = 24;
constexpr int kLongestStage = 48;  // so that there is room for what follows

std::string shown(int64_t amount, data::Observer::Unit unit) {
  return unit == data::Observer::Unit::bytes ? format_bytes(static_cast<double>(amount))
                                             : format_count(amount);
}

/// Redraws the line; a longer one than the terminal is wide would begin a new one each time.
void draw(std::FILE* out, const std::string& title, const std::string& name,
          const std::string& rest) {
  const int columns = columns_of(out) - 1 - width_of(name) - 2;
  fmt::print(out, "\r\x1b[K{}: {}", title, cut(rest, std::max(0, columns)));
}

}  // namespace

DataProgress::DataProgress(std::FILE* out, std::string name, bool colour)
    : out_(out),
      name_(std::move(name)),
      terminal_(isatty(fileno(out)) != 0),
      colour_(terminal_ && colour) {}

std::string DataProgress::title() const { return colour_ ? "\x1b[1m" + name_ + "\x1b[0m" : name_; }

void DataProgress::clear() {
  if (drawn_) fmt::print(out_, "\r\x1b[K");
  drawn_ = false;
  std::fflush(out_);
}

void DataProgress::stage(const std::string& what) {
  stage_ = what;
  if (terminal_) {
    draw(out_, title(), name_, what);
    drawn_ = true;
  } else {
    fmt::print(out_, "{}: {}\n", name_, what);
  }
  last_drawn_ = Clock::now();
  std::fflush(out_);
}

void DataProgress::amount(int64_t done, int64_t of, Unit unit) {
  if (!terminal_ || Clock::now() - last_drawn_ < kDataRedraw) return;
  last_drawn_ = Clock::now();
  std::string text = shown(done, unit);
  if (of > 0) {
    const double part = static_cast<double>(done) / static_cast<double>(of);
    text = fmt::format("│{}│ {} of {}", bar(part, kDataBarWidth), text, shown(of, unit));
  }
  draw(out_, title(), name_, cut(stage_, kLongestStage) + " " + text);
  drawn_ = true;
  std::fflush(out_);
}

void DataProgress::failed(const std::string& source, const std::string& reason) {
  clear();
  fmt::print(out_, "{}: not from {}: {}\n", title(), source, reason);
  std::fflush(out_);
}

}  // namespace syrtos::cli
