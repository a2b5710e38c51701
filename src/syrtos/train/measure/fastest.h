#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "syrtos/base/cpu.h"
#include "syrtos/nn/network.h"
#include "syrtos/train/network/probe.h"

namespace syrtos::train {

/// A way to compute a network, and what the fastest step took.
struct Setting {
  DType dtype = DType::f32;
  int threads = 1;
  double step_ms = 0;
};

/// Precisions that kernels of this CPU compute in.
std::vector<DType> precisions_of(const CpuInfo& cpu);

/// All cores, then half of them, and so on down to one.
std::vector<int> thread_counts(int cores);

/// Whole steps in each of these ways, `options.seconds` each. Fewer where `should_stop` says so.
std::vector<Setting> compare_settings(const nn::Network& network, const ProbeOptions& options,
                                      const std::vector<DType>& dtypes,
                                      const std::vector<int>& threads,
                                      const std::function<bool()>& should_stop);

/// What is left to the machine.
struct Wanted {
  bool precision = false;
  bool threads = false;
};

struct Chosen {
  job::Precision precision;
  int threads = 1;
};

/// What computes this network fastest here: measured in half a second or a few steps for each way
/// that is worth trying, and kept (cache_home/syrtos/settings.json) for this CPU, program, network,
/// size and batch, unless the machine was busy. What is not wanted stays as the options say. bf16
/// and fewer threads must gain 5 % at least. With `may_measure` false, only what is kept already
/// counts.
Chosen choose_fastest(const nn::Network& network, const ProbeOptions& options, Wanted wanted,
                      bool may_measure, const CpuInfo& cpu, const std::filesystem::path& cache_home,
                      const std::function<bool()>& should_stop);

/// What is kept for this CPU, a line for each network: "lenet5 1x28x28, ...: f32, 2 threads".
std::vector<std::string> known_settings(const CpuInfo& cpu,
                                        const std::filesystem::path& cache_home);

}  // namespace syrtos::train
