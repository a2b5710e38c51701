#include "syrtos/job/precision.h"

#include "syrtos/base/error.h"
#include "syrtos/base/format.h"

namespace syrtos::job {

Precision choose_precision(std::string_view name, const CpuInfo& cpu) {
  const char* unit = cpu.has_amx_bf16      ? "the CPU has AMX-BF16"
                     : cpu.has_avx512_bf16 ? "the CPU has AVX512-BF16"
                                           : nullptr;
  if (name == "f32") return {DType::f32, "as asked"};
  if (name == "bf16") {
    if (unit == nullptr) {
      fail_request(
          "--precision bf16 needs a CPU with AMX-BF16 or AVX512-BF16, found {} without: "
          "use --precision f32",
          cpu.model);
    }
    return {DType::bf16, "as asked"};
  }
  if (name != "auto") {
    fail_request("unknown precision '{}'{}", name, suggestion(name, {"auto", "f32", "bf16"}));
  }
  // Measured on such a machine: a step of ResNet-18 takes 51 ms in bf16 and 39 ms in f32.
  if (cpu.has_hidden_amx && !cpu.has_amx_bf16) {
    return {DType::f32, "bf16 without AMX, which is hidden, is slower"};
  }
  if (unit != nullptr) return {DType::bf16, unit};
  return {DType::f32, "the CPU has neither AMX-BF16 nor AVX512-BF16"};
}

Precision choose_precision(std::string_view name, const CpuInfo& cpu, const nn::Network& network,
                           nn::ModelOptions options) {
  // LeNet-5 has 0.4 million and is slower in bf16 on every CPU that was tried.
  constexpr int64_t kFew = 2'000'000;
  Precision precision = choose_precision(name, cpu);
  if (name != "auto" || precision.dtype == DType::f32) return precision;
  options.batch = 1;
  options.training = false;  // batch norm of one sample has no statistics to train with
  if (nn::multiply_adds(network.build(options).graph) < kFew) {
    return {DType::f32, "the network is too small for bf16 to gain"};
  }
  return precision;
}

}  // namespace syrtos::job
