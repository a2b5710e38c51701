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

/// What can be read now, to `to` and the log. False: there is nothing more to come.
bool take(int descriptor, std::string& to, std::ofstream& log) {
  std::array<char, 1 << 16> block;
  for (;;) {
    const ssize_t got = read(descriptor, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0;
    to.append(block.data(), static_cast<size_t>(got));
    if (log.is_open()) log.write(block.data(), got).flush();
  }
}

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
    for (bool open = true; open;) {
      std::array<pollfd, 2> ends = {pollfd{process.output.get(), POLLIN, 0},
                                    pollfd{process.error.get(), POLLIN, 0}};
      poll(ends.data(), ends.size(), kLookMs);
      const bool more_output = take(process.output.get(), done.output, log);
      const bool more_error = take(process.error.get(), done.error, log);
      const auto ending = process.ended();
      if (ending) {
        take(process.output.get(), done.output, log);
        take(process.error.get(), done.error, log);
        done.ending = *ending;
        return done;
      }
      if (!more_output && !more_error) usleep(1000 * 10);  // about to end
      if (options.should_stop()) fail_run("{} was interrupted", words[0]);
      done.timed_out = Clock::now() > end;
      open = !done.timed_out;
    }
  } catch (const RunError&) {
    if (options.should_stop()) throw;
    done.ending = {.code = 127};  // there is no such program
  }
  if (done.timed_out) done.ending = {.code = 124};
  return done;
}

}  // namespace syrtos::compare
