#include "syrtos/base/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "syrtos/base/cpu.h"

namespace syrtos {

int64_t free_memory() {
  int64_t free = cpu_info().memory_bytes;
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  for (int64_t kilobytes = 0; meminfo >> key >> kilobytes; meminfo.ignore(64, '\n')) {
    if (key == "MemAvailable:") free = std::min(free, kilobytes * 1024);
  }
  std::ifstream limit_file("/sys/fs/cgroup/memory.max");
  std::ifstream used_file("/sys/fs/cgroup/memory.current");
  int64_t limit = 0;
  int64_t used = 0;
  if (limit_file >> limit && used_file >> used) {
    // Pages of files that nobody uses count as used but are given back when memory is wanted.
    std::ifstream stat("/sys/fs/cgroup/memory.stat");
    for (int64_t bytes = 0; stat >> key >> bytes;) {
      if (key == "inactive_file") used -= bytes;
    }
    free = std::min(free, std::max<int64_t>(limit - used, 0));
  }
  return free;
}

}  // namespace syrtos
