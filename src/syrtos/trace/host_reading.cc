#include "syrtos/trace/host_reading.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <vector>

#include "syrtos/base/files.h"

namespace syrtos::trace {

namespace {

/// Cuts at spaces and tabs.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}

  std::string_view next() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n"), rest_.size()));
    const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t\n"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::optional<uint64_t> number() { return parse(next()); }
  void skip(int words) {
    while (words-- > 0) next();
  }

  static std::optional<uint64_t> parse(std::string_view word) {
    uint64_t value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code != std::errc() || end != word.data() + word.size()) return {};
    return value;
  }

 private:
  std::string_view rest_;
};

/// The lines of a text, one after the other.
std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) return {};
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace

// "cpu  user nice system idle iowait irq softirq steal ..."; old kernels have the first four.
std::optional<CpuTicks> parse_stat(std::string_view text) {
  Words words(text.substr(0, text.find('\n')));
  if (words.next() != "cpu") return {};
  std::array<uint64_t, 8> ticks = {};
  for (size_t i = 0; i < ticks.size(); ++i) {
    const std::optional<uint64_t> value = words.number();
    if (!value && i < 4) return {};
    ticks[i] = value.value_or(0);
  }
  return CpuTicks{.user = ticks[0] + ticks[1],
                  .system = ticks[2] + ticks[5] + ticks[6],
                  .iowait = ticks[4],
                  .idle = ticks[3],
                  .stolen = ticks[7]};
}

std::optional<Memory> parse_meminfo(std::string_view text) {
  std::optional<uint64_t> total, available, free;
  uint64_t cached = 0;
  while (const auto line = next_line(text)) {
    Words words(*line);
    const std::string_view name = words.next();
    if (name == "MemTotal:") total = words.number();
    if (name == "MemAvailable:") available = words.number();
    if (name == "MemFree:") free = words.number();
    if (name == "Cached:" || name == "Buffers:") cached += words.number().value_or(0);
  }
  // Kernels before 3.14 do not say what is available.
  if (!available && free) available = *free + cached;
  if (!total || !available || *total > UINT64_MAX / 1024) return {};
  return Memory{*total * 1024, std::min(*available, *total) * 1024};
}

// "  eth0: bytes packets errs drop fifo frame compressed multicast bytes ..."; a long number may
// follow the colon without a space.
std::optional<NetworkBytes> parse_net_dev(std::string_view text) {
  if (text.find("bytes") == std::string_view::npos) return {};
  NetworkBytes sum;
  while (const auto line = next_line(text)) {
    const size_t colon = line->rfind(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = Words(line->substr(0, colon)).next();
    Words words(line->substr(colon + 1));
    const std::optional<uint64_t> in = words.number();
    words.skip(7);
    const std::optional<uint64_t> out = words.number();
    if (name == "lo" || !in || !out) continue;
    sum.in += *in;
    sum.out += *out;
  }
  return sum;
}

// "0.20 0.18 0.12 1/80 11206"
std::optional<Processes> parse_loadavg(std::string_view text) {
  Words words(text);
  words.skip(3);
  const std::string_view word = words.next();
  const size_t slash = word.find('/');
  if (slash == std::string_view::npos) return {};
  const auto running = Words::parse(word.substr(0, slash));
  const auto total = Words::parse(word.substr(slash + 1));
  if (!running || !total) return {};
  return Processes{*running, *total};
}

// "pid (name) state ..."; the name may hold anything, so count from the last parenthesis.
std::optional<ProcessUse> parse_self_stat(std::string_view text) {
  const size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos) return {};
  Words words(text.substr(name_end + 1));
  words.skip(11);  // state is field 3; utime is 14, stime 15, rss 24
  const auto user = words.number(), system = words.number();
  words.skip(8);
  const auto pages = words.number();
  if (!user || !system || !pages) return {};
  return ProcessUse{*user + *system, *pages};
}

HostReading read_host(const std::filesystem::path& proc, int64_t time) {
  HostReading reading;
  reading.time = time;
  reading.cpu = parse_stat(read_text(proc / "stat").text);
  reading.memory = parse_meminfo(read_text(proc / "meminfo").text);
  reading.network = parse_net_dev(read_text(proc / "net" / "dev").text);
  reading.processes = parse_loadavg(read_text(proc / "loadavg").text);
  reading.process = parse_self_stat(read_text(proc / "self" / "stat").text);
  return reading;
}

}  // namespace syrtos::trace
