#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace syrtos {

/// The instruction sets that kernels are compiled for, each including the ones before it.
enum class Isa { generic, avx2, avx512, avx512_bf16 };

/// The best of them that this CPU and its operating system support, found at run time.
Isa best_isa();
const char* to_string(Isa isa);

struct CpuInfo {
  std::string model;                  ///< "AMD EPYC"
  int cores = 1;                      ///< cores this process may use (affinity, cgroup)
  int64_t memory_bytes = 0;           ///< memory this process may use
  std::vector<std::string> features;  ///< of avx2, avx512f, avx512_bf16, amx_bf16 ...
  bool has_avx512_bf16 = false;
  bool has_amx_bf16 = false;  ///< and its tiles may be used
  /// The CPU has AMX, but a virtual machine hides how its tiles are made: kernels that are
  /// generated at run time, as oneDNN's, must go without.
  bool has_hidden_amx = false;
};

CpuInfo cpu_info();

/// Largest resident set of this process so far, in bytes.
int64_t peak_rss_bytes();

}  // namespace syrtos
