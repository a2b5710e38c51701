#include "syrtos/base/cpu.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "syrtos/base/memory.h"

#include "syrtos/base/amx.h"

namespace syrtos {

const char* to_string(Isa isa) {
  switch (isa) {
    case Isa::generic:
      return "generic";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
    case Isa::avx512_bf16:
      return "avx512_bf16";
  }
  return "?";
}

namespace {

// One line of /proc/cpuinfo, for example "model name" or "flags".
std::string cpuinfo_field(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

int available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = sched_getaffinity(0, sizeof set, &set) == 0
                  ? CPU_COUNT(&set)
                  : static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  std::ifstream quota("/sys/fs/cgroup/cpu.max");  // "max 100000" or "150000 100000"
  double limit = 0;
  double period = 0;
  if (quota >> limit >> period && period > 0) {
    cores = std::min(cores, std::max(1, static_cast<int>(std::floor(limit / period))));
  }
  return std::max(cores, 1);
}

int64_t available_memory() {
  const int64_t bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return std::min(bytes, group_memory().limit.value_or(bytes));
}

/// Some virtual machines show AMX's flags and not how its tiles are made (leaf 0x1D of CPUID), and
/// kernels cannot be generated without that.
bool tiles_are_described() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid_count(0x1D, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  const unsigned tiles = ebx >> 16;
  const unsigned rows = ecx & 0xFFFF;
  return tiles >= 8 && rows >= 16;
#else
  return false;
#endif
}

}  // namespace

Isa best_isa() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni")) {
    return Isa::avx512_bf16;
  }
  if (avx512) return Isa::avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
      __builtin_cpu_supports("bmi2")) {
    return Isa::avx2;
  }
#endif
  return Isa::generic;
}

CpuInfo cpu_info() {
  CpuInfo info;
  info.model = cpuinfo_field("model name");
  info.cores = available_cores();
  info.memory_bytes = available_memory();
  std::istringstream flags(cpuinfo_field("flags"));
  for (std::string flag; flags >> flag;) {
    for (const char* known : {"avx2", "fma", "avx512f", "avx512bw", "avx512_vnni", "avx512_bf16",
                              "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8"}) {
      if (flag == known) info.features.push_back(flag);
    }
  }
  const auto has = [&](const char* name) {
    return std::find(info.features.begin(), info.features.end(), name) != info.features.end();
  };
  info.has_hidden_amx = has("amx_tile") && !tiles_are_described();
  info.has_avx512_bf16 = has("avx512_bf16");
  info.has_amx_bf16 = has("amx_bf16") && grant_amx();
  return info;
}

int64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

}  // namespace syrtos
