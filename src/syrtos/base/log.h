#pragma once

#include <fmt/core.h>

#include <string>
#include <string_view>

namespace syrtos {

/// How much is told to people who look for a fault.
enum class LogLevel {
  quiet,  ///< nothing
  info,   ///< what was decided, started, connected, lost, written
  trace,  ///< also what happens again and again
};

/// Lets the lines of log_info and log_trace appear on standard error while it lives. Without one,
/// nothing is ever logged. It holds for the whole process, so a program makes one, in main.
///
///   2026-01-31 12:00:00.123 node3 rank 2 info: connected to rank 0 at 10.0.0.1:4711
class LogScope {
 public:
  explicit LogScope(LogLevel level);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

 private:
  LogLevel before_;
};

/// What the lines say from now on about where they come from: a rank, on a host as people call it.
/// Until then they have this machine's name and no rank.
void name_log(int rank, std::string_view host);

/// Whether lines of this level appear. Costs one relaxed load.
bool logs(LogLevel level);

/// Writes the line; use log_info and log_trace.
void write_log(LogLevel level, fmt::string_view format, fmt::format_args arguments);

/// One line, for instance log_info("rank {} is lost", rank). Nothing is formatted when nobody reads
/// it. Safe from any thread; blocks when standard error does.
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... arguments) {
  if (logs(LogLevel::info)) {
    write_log(LogLevel::info, format, fmt::make_format_args(arguments...));
  }
}

template <typename... Args>
void log_trace(fmt::format_string<Args...> format, Args&&... arguments) {
  if (logs(LogLevel::trace)) {
    write_log(LogLevel::trace, format, fmt::make_format_args(arguments...));
  }
}

}  // namespace syrtos
