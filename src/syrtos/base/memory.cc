#include "syrtos/base/memory.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "syrtos/base/cpu.h"

namespace syrtos {

namespace {

namespace fs = std::filesystem;

/// The names that both versions of control groups have for the same things.
struct Names {
  const char* limit;
  const char* used;
  const char* unused_file;  // of memory.stat
  const char* events;
};
constexpr Names kFirst = {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
                          "memory.oom_control"};
constexpr Names kSecond = {"memory.max", "memory.current", "inactive_file", "memory.events"};

/// The number that follows a word; 0: there is none.
int64_t number_in(const fs::path& file, const std::string& word) {
  std::ifstream in(file);
  std::string key;
  for (int64_t number = 0; in >> key >> number;) {
    if (key == word) return number;
  }
  return 0;
}

std::optional<int64_t> number_of(const fs::path& file) {
  std::ifstream in(file);
  int64_t number = 0;
  if (!(in >> number)) return std::nullopt;  // also "max"
  return number;
}

void narrow(std::optional<int64_t>& value, int64_t other) {
  value = std::min(value.value_or(other), other);
}

void look_at(const fs::path& group, const Names& names, GroupMemory& memory) {
  std::error_code ignored;
  if (fs::exists(group / names.events, ignored)) {
    const int64_t kills = number_in(group / names.events, "oom_kill");
    memory.kills = std::max(memory.kills.value_or(0), kills);
  }
  const std::optional<int64_t> limit = number_of(group / names.limit);
  const std::optional<int64_t> used = number_of(group / names.used);
  constexpr int64_t kNone = int64_t{1} << 60;  // what the first version says for no limit
  if (!limit || !used || *limit > kNone) return;
  // Pages of files that nobody uses count as used but are given back when memory is wanted.
  const int64_t unused = number_in(group / "memory.stat", names.unused_file);
  narrow(memory.limit, *limit);
  narrow(memory.free, std::max<int64_t>(*limit - *used + unused, 0));
}

/// The group and all above it; inside a container its own path may not be there, but the top is.
void look_upwards(const fs::path& mounted, fs::path path, const Names& names, GroupMemory& memory) {
  for (path = path.relative_path();; path = path.parent_path()) {
    look_at(mounted / path, names, memory);
    if (path.empty()) return;
  }
}

}  // namespace

GroupMemory group_memory(const fs::path& groups, const fs::path& mounted) {
  GroupMemory memory;
  std::ifstream in(groups);
  // "4:memory:/path" in the first version, "0::/path" in the second.
  for (std::string line; std::getline(in, line);) {
    std::istringstream parts(line);
    std::string number, controllers, path;
    std::getline(parts, number, ':');
    std::getline(parts, controllers, ':');
    std::getline(parts, path);
    if (controllers.empty()) look_upwards(mounted, path, kSecond, memory);
    std::istringstream list(controllers);
    for (std::string one; std::getline(list, one, ',');) {
      if (one == "memory") look_upwards(mounted / "memory", path, kFirst, memory);
    }
  }
  return memory;
}

int64_t free_memory() {
  int64_t free = cpu_info().memory_bytes;
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  for (int64_t kilobytes = 0; meminfo >> key >> kilobytes; meminfo.ignore(64, '\n')) {
    if (key == "MemAvailable:") free = std::min(free, kilobytes * 1024);
  }
  return std::min(free, group_memory().free.value_or(free));
}

int64_t memory_limit() {
  const int64_t all = cpu_info().memory_bytes;
  return std::min(all, group_memory().limit.value_or(all));
}

int64_t memory_kills() {
  const std::optional<int64_t> own = group_memory().kills;
  return own ? *own : number_in("/proc/vmstat", "oom_kill");
}

}  // namespace syrtos
