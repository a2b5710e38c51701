#include "syrtos/train/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include "syrtos/base/format.h"
#include "syrtos/data/mnist.h"
#include "syrtos/ops/onednn/backend.h"

namespace syrtos::train {

namespace {

constexpr int64_t kLittleMemory = int64_t{2} << 30;

Finding look_for_mnist(const std::filesystem::path& data_home) {
  std::string tried;
  for (const auto& place : data::mnist_places(data_home)) {
    if (data::has_mnist(place)) return {true, "MNIST is in " + place.string(), ""};
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  return {false, "MNIST was not found in " + tried,
          "run tools/bootstrap, or train on --data random"};
}

Finding look_at_runs() {
  std::error_code error;
  const std::filesystem::path runs = std::filesystem::exists("runs", error) ? "runs" : ".";
  if (access(runs.c_str(), W_OK) == 0) return {true, "runs/ can be written here", ""};
  return {false, "runs/ cannot be written here", "change the directory, or give --run DIR"};
}

}  // namespace

Diagnosis examine(const CpuInfo& cpu, const std::filesystem::path& data_home) {
  Diagnosis result;
  result.cpu = cpu;
  result.isa = best_isa();
  result.backend = ops::onednn::make_backend()->name();
  result.precision = choose_precision("auto", cpu);
  if (result.isa == Isa::generic || result.isa == Isa::avx2) {
    result.findings.push_back({false, fmt::format("no AVX-512 (best: {})", to_string(result.isa)),
                               "everything works, but slower"});
  } else {
    result.findings.push_back({true, fmt::format("kernels for {}", to_string(result.isa)), ""});
  }
  const std::string memory = format_bytes(static_cast<double>(cpu.memory_bytes));
  if (cpu.memory_bytes < kLittleMemory) {
    result.findings.push_back({false, "little memory: " + memory, "use small batches"});
  } else {
    result.findings.push_back({true, "memory: " + memory, ""});
  }
  result.findings.push_back(look_for_mnist(data_home));
  result.findings.push_back(look_at_runs());
  return result;
}

}  // namespace syrtos::train
