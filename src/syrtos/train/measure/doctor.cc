#include "syrtos/train/measure/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "syrtos/base/format.h"
#include "syrtos/data/open.h"
#include "syrtos/ops/cpu/backend.h"
#include "syrtos/train/measure/fastest.h"

namespace syrtos::train {

namespace {

constexpr int64_t kLittleMemory = int64_t{2} << 30;

Finding look_for_data(const std::filesystem::path& cache_home) {
  const std::filesystem::path place = data::data_directory(cache_home);
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(place, error)) {
    if (entry.is_directory(error) && !entry.path().filename().string().starts_with("."))
      names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  if (!names.empty()) {
    return {true, fmt::format("data in {}: {}", place.string(), fmt::join(names, ", ")), ""};
  }
  return {false, "no data in " + place.string(),
          "run: syrtos data get mnist, or train on --data random"};
}

Finding look_at_runs() {
  std::error_code error;
  const std::filesystem::path runs = std::filesystem::exists("runs", error) ? "runs" : ".";
  if (access(runs.c_str(), W_OK) == 0) return {true, "runs/ can be written here", ""};
  return {false, "runs/ cannot be written here", "change the directory, or give --run DIR"};
}

}  // namespace

Diagnosis examine(const CpuInfo& cpu, const std::filesystem::path& cache_home) {
  Diagnosis result;
  result.cpu = cpu;
  result.isa = best_isa();
  result.backend = ops::cpu::make_backend()->name();
  result.precision = job::choose_precision("auto", cpu);
  if (result.isa == Isa::generic || result.isa == Isa::avx2) {
    result.findings.push_back({false, fmt::format("no AVX-512 (best: {})", to_string(result.isa)),
                               "everything works, but slower"});
  } else {
    result.findings.push_back(
        {true,
         fmt::format("kernels for {}{}", to_string(result.isa), cpu.has_amx_bf16 ? " and AMX" : ""),
         ""});
  }
  if (cpu.has_hidden_amx && cpu.has_amx_bf16) {
    result.findings.push_back(
        {true, "AMX for our own kernels alone: this virtual machine hides how its tiles are made",
         ""});
  }
  const std::string memory = format_bytes(static_cast<double>(cpu.memory_bytes));
  if (cpu.memory_bytes < kLittleMemory) {
    result.findings.push_back({false, "little memory: " + memory, "use small batches"});
  } else {
    result.findings.push_back({true, "memory: " + memory, ""});
  }
  for (const std::string& known : known_settings(cpu, cache_home)) {
    result.findings.push_back({true, "fastest here for " + known, ""});
  }
  result.findings.push_back(look_for_data(cache_home));
  result.findings.push_back(look_at_runs());
  return result;
}

}  // namespace syrtos::train
