#pragma once

#include <filesystem>
#include <string>

#include "syrtos/base/cpu.h"

namespace syrtos::train {

/// What a machine can do at best with so many threads.
struct Machine {
  double f32_gflops = 0;  ///< of a large matrix product
  double bf16_gflops = 0;
  double memory_gb_s = 0;  ///< reading and writing, far more than the caches hold

  double peak_gflops(bool bf16) const { return bf16 ? bf16_gflops : f32_gflops; }
};

/// Takes about 0.3 s; the fastest of some tries.
Machine measure_machine();

/// What was measured on such a machine before (cache_home/syrtos/machine.json), else measured now,
/// with the threads of the pool, and kept. Without a cache directory it is not kept.
Machine machine_of(const CpuInfo& cpu, const std::filesystem::path& cache_home);

}  // namespace syrtos::train
