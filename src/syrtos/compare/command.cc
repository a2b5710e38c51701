#include "syrtos/compare/command.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>

#include "syrtos/base/clock.h"
#include "syrtos/base/error.h"
#include "syrtos/launch/process.h"

namespace syrtos::compare {

namespace {

constexpr int kLookMs = 100;
constexpr int kLastBlocks = 64;

/// What a command prints on one of its ends.
class Printed {
 public:
  Printed(int descriptor, std::string& to, std::ofstream& log)
      : descriptor_(descriptor), to_(to), log_(log) {}

  int descriptor() const { return descriptor_; }

  /// Takes a block, if there is one. False: there is none.
  bool take() {
    std::array<char, 1 << 16> block;
    ssize_t got = -1;
    do {
      got = read(descriptor_, block.data(), block.size());
    } while (got < 0 && errno == EINTR);
    if (got == 0) is_open_ = false;
    if (got <= 0) return false;
    to_.append(block.data(), static_cast<size_t>(got));
    if (to_.size() > 2 * kMostKept) to_.erase(0, to_.size() - kMostKept);
    if (log_.is_open() && logged_ < kMostLogged) log_.write(block.data(), got).flush();
    logged_ += static_cast<size_t>(got);
    return true;
  }
  bool is_open() const { return is_open_; }

 private:
  static constexpr size_t kMostKept = size_t{16} << 20;  // bytes, as the next
  static constexpr size_t kMostLogged = size_t{64} << 20;

  const int descriptor_;
  std::string& to_;
  std::ofstream& log_;
  size_t logged_ = 0;
  bool is_open_ = true;
};

}  // namespace

std::string Done::end_of_output() const {
  const std::string all = error.empty() ? output : error;
  size_t from = all.size();
  for (int lines = 0; from > 0 && lines < 9; ++lines) {
    from = from < 2 ? std::string::npos : all.rfind('\n', from - 2);
    from = from == std::string::npos ? 0 : from + 1;
  }
  std::string result;
  while (from < all.size()) {
    const size_t end = std::min(all.find('\n', from), all.size());
    result += "  | " + all.substr(from, end - from) + "\n";
    from = end + 1;
  }
  if (!result.empty()) result.pop_back();
  return result;
}

Done run_command(const std::vector<std::string>& words, const CommandOptions& options) {
  Done done;
  std::ofstream log;
  if (!options.log.empty()) log.open(options.log, std::ios::app | std::ios::binary);
  const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(options.seconds));
  try {
    launch::Process process(words);
    process.input.close();
    Printed output(process.output.get(), done.output, log);
    Printed error(process.error.get(), done.error, log);
    while (!done.timed_out) {
      std::array<pollfd, 2> ends = {pollfd{output.descriptor(), POLLIN, 0},
                                    pollfd{error.descriptor(), POLLIN, 0}};
      poll(ends.data(), ends.size(), kLookMs);
      const bool ended = process.ended().has_value();
      // After its end what it left in its pipes, and no more: others may go on to print.
      for (int blocks = ended ? kLastBlocks : 1; blocks > 0; --blocks) {
        const bool more_output = output.take();
        if (!error.take() && !more_output) break;
      }
      if (ended) {
        done.ending = *process.ended();
        return done;
      }
      if (!output.is_open() && !error.is_open()) usleep(1000 * 10);  // about to end
      if (options.should_stop()) fail_run("{} was interrupted", words[0]);
      done.timed_out = Clock::now() > end;
    }
  } catch (const RunError&) {
    if (options.should_stop()) throw;
    done.ending = {.code = 127};  // there is no such program
  }
  if (done.timed_out) done.ending = {.code = 124};
  return done;
}

}  // namespace syrtos::compare
