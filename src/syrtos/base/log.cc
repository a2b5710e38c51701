#include "syrtos/base/log.h"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>

namespace syrtos {

namespace {

std::atomic<LogLevel> shown = LogLevel::quiet;

std::string own_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

std::string pattern_of(std::string_view where) {
  std::string literal;
  for (const char c : where) literal += c == '%' ? "%%" : std::string(1, c);
  return fmt::format("%Y-%m-%d %H:%M:%S.%e {} %l: %v", literal);
}

// It is never destroyed: threads may still log while the process ends.
spdlog::logger& logger() {
  static spdlog::logger* const made = [] {
    auto* result = new spdlog::logger("syrtos", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    result->set_level(spdlog::level::trace);
    result->flush_on(spdlog::level::trace);
    result->set_pattern(pattern_of(own_name()));
    return result;
  }();
  return *made;
}

}  // namespace

LogScope::LogScope(LogLevel level) : before_(shown.exchange(level)) {}

LogScope::~LogScope() { shown = before_; }

void name_log(int rank, std::string_view host) {
  logger().set_pattern(
      pattern_of(fmt::format("{} rank {}", host.empty() ? own_name() : std::string(host), rank)));
}

bool logs(LogLevel level) { return shown.load(std::memory_order_relaxed) >= level; }

void write_log(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  logger().log(level == LogLevel::info ? spdlog::level::info : spdlog::level::trace,
               fmt::vformat(format, arguments));
}

}  // namespace syrtos
